SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas(
        to_char(n, 'fm000'), 'd', format('{"status": "%s", "active_path": "/%s"}', CASE WHEN n % 10 = 0 THEN 'RUNNING' ELSE 'DONE' END, n), 0
    )
    FROM generate_series(1, 100) n;
    PERFORM harel_commit_cas('child', 'd', '{"status": "DONE", "active_path": "/c", "parent_id": "001"}', 0);
END
$$;
SELECT results_eq(
    $$SELECT kind, count, waiting, ended FROM harel_flow('d', 2) WHERE kind NOT IN ('state', 'transition')$$,
    $$VALUES ('sample', 5::bigint, 2::bigint, 3::bigint)$$,
    'two roots of each status, and the child'
);
SELECT results_eq(
    $$SELECT source FROM harel_flow('d', 2) WHERE kind = 'state' ORDER BY source COLLATE "C"$$,
    $$VALUES ('/100'), ('/90'), ('/98'), ('/99'), ('/c')$$,
    'those with the greatest ids'
);
SELECT results_eq(
    $$SELECT kind, count FROM harel_flow('d', 90) WHERE kind NOT IN ('state', 'transition')$$,
    $$VALUES ('definition', 101::bigint)$$,
    'all, where there are no more'
);
SELECT is((SELECT count FROM harel_flow('d', NULL) LIMIT 1), 101::bigint, 'all, where all are asked for');

SELECT * FROM finish();
