SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_publish(e, e, p_now => 1) FROM unnest('{a,b,c}'::text[]) e;
    PERFORM harel_claim('w', 500, 3, p_now => 2);
    UPDATE transport_groups SET claimed_at = to_timestamp(CASE group_id WHEN 'b' THEN 10 WHEN 'c' THEN 20 ELSE 30 END);
END
$$;
SELECT results_eq(
    $$SELECT group_id, seconds FROM harel_queue(p_state => 'leased', p_limit => 2, p_now => 100)$$,
    $$VALUES ('b', 90::float8), ('c', 80)$$,
    'since they were claimed, whenever they end'
);

SELECT * FROM finish();
