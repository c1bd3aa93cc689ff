SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
    PERFORM harel_publish('e', 'ev' || n, p_now => 100) FROM generate_series(1, 3) n;
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);

SELECT results_eq(
    $$SELECT f.result, f.stored_version FROM lease l, harel_finish(
        '{e,e,e}', ARRAY[l.token, l.token, l.token], '{d,d,d}', '{1,2,NULL}', '{1,2,0}', p_now => 101
    ) f$$,
    $$VALUES ('finished', 2), ('expired', NULL), ('expired', NULL)$$, 'the lease is over with the first'
);
SELECT is((SELECT data || version FROM executions), '12', 'which is all that was committed');
SELECT is(ARRAY(SELECT event FROM transport_messages ORDER BY seq), '{ev2,ev3}', 'and one message is gone');

SELECT * FROM finish();
