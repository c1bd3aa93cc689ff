SELECT plan(4);

SELECT results_eq(
    $$SELECT * FROM harel_commit(
        'e', 'd', '{}', 0, '', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'
    )$$, $$VALUES (true, 1, '{}'::bigint[])$$, 'empty arrays'
);
SELECT results_eq(
    $$SELECT * FROM harel_commit(
        'e', 'd', '{}', 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    )$$, $$VALUES (true, 2, '{}'::bigint[])$$, 'NULL arrays'
);
SELECT results_eq(
    $$SELECT * FROM harel_commit(
        'e', 'd', '{}', 2, NULL, NULL, '{}', '{}', NULL, '{}', '{}', '{}', NULL
    )$$, $$VALUES (true, 3, '{}'::bigint[])$$, 'and both beside each other'
);
SELECT is(
    (SELECT count(*) FROM outbox) + (SELECT count(*) FROM spawns) + (SELECT count(*) FROM timers), 0::bigint,
    'nothing is written for them'
);

SELECT * FROM finish();
