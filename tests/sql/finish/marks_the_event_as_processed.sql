SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas(e, 'd', '{}', 0) FROM unnest('{a,b,c}'::text[]) e;
    PERFORM harel_publish(e, format('{"id": "ev of %s"}', e), p_now => 100)
    FROM unnest('{a,b,c}'::text[]) e, generate_series(1, 2);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, 3, p_now => 100);
CREATE TEMP TABLE answer AS SELECT * FROM harel_finish(
    '{a,b,c}', (SELECT array_agg(token) FROM lease), '{d,d,d}', '{1,1,1}', '{1,1,1}', ARRAY['ev of a', NULL,
    ''], p_now => 101
);

SELECT is(
    ARRAY(SELECT execution_id || ': ' || event_id FROM processed_events), '{a: ev of a}', 'for the one that names it'
);
SELECT results_eq(
    $$SELECT group_id, already_processed FROM harel_next('w', 30, 3, p_now => 101) ORDER BY group_id$$,
    $$VALUES ('a', true), ('b', false), ('c', false)$$, 'and a second delivery is known to be one'
);

SELECT * FROM finish();
