SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"status": "RUNNING"}', 0);
    PERFORM harel_publish('e', 'ev' || n, p_now => 100) FROM generate_series(1, 2) n;
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);

SELECT is(
    (
        SELECT f.result FROM lease l, harel_finish('{e}', ARRAY[l.token], '{d}', '{"{\"status\": \"CANCELLED\"}"}',
        '{1}', p_now => 101) f
    ),
    'finished', 'the step brings the execution to its end'
);
SELECT is_empty($$SELECT * FROM harel_next('w', 30, p_now => 102)$$, 'what else it was sent is not handed out');
SELECT is(
    ARRAY(SELECT event || ': ' || reason FROM harel_dead_letters()), '{ev2: the execution is CANCELLED}', 'but dropped'
);

SELECT * FROM finish();
