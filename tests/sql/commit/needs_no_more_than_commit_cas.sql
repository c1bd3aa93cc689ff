SELECT plan(3);

SELECT results_eq(
    $$SELECT * FROM harel_commit('e', 'd', '{"n": 1}', 0)$$, $$VALUES (true, 1, '{}'::bigint[])$$,
    'four arguments are enough, and without events the seqs are an empty array'
);
SELECT is(harel_load('e'), '{"n": 1}', 'the data is stored');
SELECT is(
    (SELECT count(*) FROM outbox) + (SELECT count(*) FROM spawns) + (SELECT count(*) FROM timers)
    + (SELECT count(*) FROM trace) + (SELECT count(*) FROM processed_events),
    0::bigint, 'and nothing else'
);

SELECT * FROM finish();
