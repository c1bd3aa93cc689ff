SELECT plan(2);

CREATE TEMP TABLE sample (name text, value text, finished_at timestamptz);
INSERT INTO sample VALUES
('whole', '1000000000', '2001-09-09 01:46:40+00'), ('fraction', '1735689600.25', '2025-01-01 00:00:00.25+00'),
('before', '-1.5', '1969-12-31 23:59:58.5+00'), ('exponent', '1e9', '2001-09-09 01:46:40+00'), ('null', 'null', now()),
('text', '"1000000000"', now()), ('object', '{"a": 1e999999}', now()), ('too great', '1e12', now()),
('far too great', '1e999999', now()), ('tiny', '1e-999999', now());
DO $$
BEGIN
    PERFORM harel_commit_cas(
        name || ' and ' || odd, 'd', format('{"status": "DONE", "a": %s, "finished_at": %s}', odd, value), 0
    ) FROM sample, unnest(ARRAY['"\u0000"', '1e999999', '"\ud83d"']) odd;
END
$$;

SELECT is((SELECT count(*) FROM executions WHERE status = 'DONE'), 30::bigint, 'all are done');
SELECT is_empty(
    $$SELECT e.id, e.finished_at, s.finished_at FROM sample s LEFT JOIN executions e ON e.id LIKE s.name || ' and %'
    WHERE e.finished_at IS DISTINCT FROM s.finished_at$$,
    'where jsonb cannot hold the data, its number counts all the same'
);

SELECT * FROM finish();
