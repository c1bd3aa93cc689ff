SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas(e, 'd', '{}', 0) FROM unnest('{a,b}'::text[]) e;
    PERFORM harel_publish(e, e || n, p_now => 100) FROM unnest('{a,b}'::text[]) e, generate_series(1, 3) n;
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, 10, p_now => 100);

SELECT is(ARRAY(SELECT event FROM lease ORDER BY event), '{a1,b1}', 'the first of each, whatever the limit');
SELECT is_empty($$SELECT * FROM harel_next('w', 30, 10, p_now => 100)$$, 'and no other while these are leased');
SELECT is((SELECT harel_ack('a', token, 101) FROM lease WHERE group_id = 'a'), true, 'once one is acked');
SELECT is(ARRAY(SELECT event FROM harel_next('w', 30, 10, p_now => 101)), '{a2}', 'the next of its group comes');

SELECT * FROM finish();
