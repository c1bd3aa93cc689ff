SELECT plan(2);

SELECT is_empty('SELECT * FROM harel_definitions()', 'none in an empty store');
INSERT INTO executions (id, definition_id, data, version, status)
SELECT n::text, 'd' || n % 2, '{}', 1, CASE WHEN n < 4 THEN '' WHEN n % 3 = 0 THEN 'DONE' ELSE 'RUNNING' END
FROM generate_series(1, 20010) n;
SELECT results_eq(
    'SELECT * FROM harel_definitions()',
    $$VALUES
        ('d0', NULL, 1::bigint), ('d0', 'DONE', 3335), ('d0', 'RUNNING', 6669),
        ('d1', NULL, 2), ('d1', 'DONE', 3334), ('d1', 'RUNNING', 6669)$$,
    'of each definition'
);

SELECT * FROM finish();
