SELECT plan(2);

CREATE TEMP TABLE sample (name text, value text, finished_at timestamptz);
INSERT INTO sample VALUES
('whole', '1000000000', '2001-09-09 01:46:40+00'), ('fraction', '1735689600.25', '2025-01-01 00:00:00.25+00'),
('zero', '0', 'epoch'), ('before', '-1.5', '1969-12-31 23:59:58.5+00'), ('exponent', '1e9', '2001-09-09 01:46:40+00'),
('tiny', '1e-400', 'epoch'), ('null', 'null', now()), ('text', '"1000000000"', now()), ('true', 'true', now()),
('object', '{"a": 1}', now()), ('list', '[1]', now()), ('too great', '1e12', now()), ('far too great', '1e400', now()),
('too small', '-1e12', now());
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

SELECT is_empty(
    $$SELECT e.id, e.finished_at, s.finished_at FROM sample s CROSS JOIN unnest('{first,later}'::text[]) k
    LEFT JOIN executions e ON e.id = k || ' ' || s.name WHERE e.finished_at IS DISTINCT FROM s.finished_at$$,
    'a number is the time in seconds, and for anything else it is the time of the commit'
);
SELECT is_empty(
    $$SELECT id, finished_at FROM executions WHERE id LIKE 'running %' AND finished_at IS NOT NULL$$,
    'without a final status there is none'
);

SELECT * FROM finish();
