SELECT plan(2);

-- NULL is for the time of the commit.
CREATE TEMP TABLE sample (name text, value text, finished_at timestamptz);
INSERT INTO sample VALUES
('whole', '1000000000', '2001-09-09 01:46:40+00'), ('fraction', '1735689600.25', '2025-01-01 00:00:00.25+00'),
('before', '-1.5', '1969-12-31 23:59:58.5+00'), ('exponent', '1e9', '2001-09-09 01:46:40+00'), ('null', 'null', NULL),
('text', '"1000000000"', NULL), ('object', '{"a": 1e999999}', NULL), ('too great', '1e12', NULL),
('far too great', '1e999999', NULL), ('tiny', '1e-999999', NULL);
DO $$
BEGIN
    PERFORM harel_commit_cas(
        name || ' and ' || odd, 'd', format('{"status": "DONE", "a": %s, "finished_at": %s}', odd, value), 0
    ) FROM sample, unnest(ARRAY['"\u0000"', '1e999999', '"\ud83d"']) odd;
END
$$;
CREATE TEMP TABLE found AS SELECT id, finished_at FROM executions;

SELECT is((SELECT count(*) FROM executions WHERE status = 'DONE'), 30::bigint, 'all are done');
SELECT is_empty(
    $$SELECT e.id, e.finished_at, s.finished_at FROM sample s LEFT JOIN found e ON e.id LIKE s.name || ' and %'
    WHERE CASE
        WHEN s.finished_at IS NULL THEN e.finished_at BETWEEN now() AND clock_timestamp()
        ELSE e.finished_at = s.finished_at
    END IS NOT TRUE$$,
    'where jsonb cannot hold the data, its number counts all the same'
);

SELECT * FROM finish();
