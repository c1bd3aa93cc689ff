SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"n": 1}', 0, 'ev1');
    PERFORM harel_commit_cas('e', 'd', ' {"n": 2}', 1, 'ev2');
    PERFORM harel_commit_cas('f', 'd', '{}', 0, 'ev3');
END
$$;

SELECT results_eq(
    $$SELECT data, already_processed, version FROM harel_load_for_event('e', 'ev1')$$, $$VALUES (' {"n": 2}', true, 2)$$,
    'an event handled by an earlier commit'
);
SELECT results_eq(
    $$SELECT data, already_processed, version FROM harel_load_for_event('e', 'ev2')$$, $$VALUES (' {"n": 2}', true, 2)$$,
    'an event handled by the last commit'
);
SELECT results_eq(
    $$SELECT data, already_processed, version FROM harel_load_for_event('e', 'ev3')$$, $$VALUES (' {"n": 2}', false, 2)$$,
    'an event that another execution handled'
);
SELECT results_eq(
    $$SELECT data, already_processed, version FROM harel_load_for_event('e', 'ev4')$$, $$VALUES (' {"n": 2}', false, 2)$$,
    'an event that nobody handled'
);

SELECT * FROM finish();
