SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
    PERFORM harel_publish('e', 'ev' || n, p_now => 100) FROM generate_series(1, 2) n;
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);

SELECT results_eq(
    $$SELECT f.result, f.stored_version FROM lease l, harel_finish(
        '{e,e}', ARRAY[l.token, l.token], '{d,d}', '{1,2}', '{7,1}', p_now => 101
    ) f$$,
    $$VALUES ('conflict', 1), ('finished', 2)$$, 'as the lease still holds'
);
SELECT is(ARRAY(SELECT event FROM transport_messages ORDER BY seq), '{ev2}', 'one message is gone');

SELECT * FROM finish();
