SELECT plan(2);

-- NULL is for the time of the commit.
CREATE TEMP TABLE sample (name text, value text, finished_at timestamptz);
INSERT INTO sample VALUES
('whole', '1000000000', '2001-09-09 01:46:40+00'), ('fraction', '1735689600.25', '2025-01-01 00:00:00.25+00'),
('zero', '0', 'epoch'), ('before', '-1.5', '1969-12-31 23:59:58.5+00'), ('exponent', '1e9', '2001-09-09 01:46:40+00'),
('tiny', '1e-400', 'epoch'), ('null', 'null', NULL), ('text', '"1000000000"', NULL), ('true', 'true', NULL),
('object', '{"a": 1}', NULL), ('list', '[1]', NULL), ('too great', '1e12', NULL), ('far too great', '1e400', NULL),
('too small', '-1e12', NULL);
DO $$
BEGIN
    PERFORM harel_commit_cas('first ' || name,
    'd', format('{"status": "DONE", "finished_at": %s}', value), 0) FROM sample;
    PERFORM harel_commit_cas('later ' || name, 'd', '{"status": "RUNNING"}', 0) FROM sample;
    PERFORM harel_commit_cas('later ' || name,
    'd', format('{"status": "FAILED", "finished_at": %s}', value), 1) FROM sample;
    PERFORM harel_commit_cas('running ' || name,
    'd', format('{"status": "RUNNING", "finished_at": %s}', value), 0) FROM sample;
END
$$;
CREATE TEMP TABLE found AS SELECT id, finished_at FROM executions;

SELECT is_empty(
    $$SELECT e.id, e.finished_at, s.finished_at FROM sample s CROSS JOIN unnest('{first,later}'::text[]) k
    LEFT JOIN found e ON e.id = k || ' ' || s.name WHERE CASE
        WHEN s.finished_at IS NULL THEN e.finished_at BETWEEN now() AND clock_timestamp()
        ELSE e.finished_at = s.finished_at
    END IS NOT TRUE$$,
    'a number is the time in seconds, and for anything else it is the time of the commit'
);
SELECT is_empty(
    $$SELECT id, finished_at FROM executions WHERE id LIKE 'running %' AND finished_at IS NOT NULL$$,
    'without a final status there is none'
);

SELECT * FROM finish();
