SELECT plan(3);

INSERT INTO executions (id, definition_id, data, version, status)
SELECT 'e' || n, 'd', '{}', 1, CASE WHEN n % 10 = 0 THEN 'DONE' ELSE 'RUNNING' END FROM generate_series(1, 9000) n;
-- It counts up to a thousand of each table, and on several nodes there is one for each shard: of ten or more, all.
SELECT ok(
    (
        SELECT CASE WHEN harel__is_distributed() THEN n IN ('4000', '8100') ELSE n = '1000' END
        FROM (SELECT executions ->> 'RUNNING' FROM harel_stats()) s (n)
    ),
    'not analyzed: as far as it has counted'
);
ANALYZE executions;
SELECT ok(
    (SELECT (executions ->> 'RUNNING')::integer BETWEEN 8000 AND 8200 FROM harel_stats()), 'analyzed: what is to be expected'
);
SELECT is((SELECT executions ->> 'DONE' FROM harel_stats()), '900', 'what is below a thousand is exact');

SELECT * FROM finish();
