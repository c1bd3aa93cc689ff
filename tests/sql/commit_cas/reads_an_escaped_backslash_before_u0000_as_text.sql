SELECT plan(3);

CREATE TEMP TABLE sample (id text, escapes text, expected text);
INSERT INTO sample VALUES
('two', '\\u0000', '\u0000'),
('three', '\\\u0000', '\' || chr(65533)),
('four', '\\\\u0000', '\\u0000'),
('five', '\\\\\u0000', '\\' || chr(65533)),
('after a quote', '\"\\u0000', '"\u0000'),
('before a surrogate', '\\ud83d \ud83d', '\ud83d ' || chr(65533)),
('at the end', '\u0000\\', chr(65533) || '\');
DO $$
BEGIN
    -- The NUL in x makes each one take the way of data that jsonb cannot hold.
    PERFORM harel_commit_cas(id, 'd', format('{"status":"RUNNING","outcome":"%s","x":"\u0000"}', escapes), 0) FROM sample;
END
$$;

SELECT is((SELECT count(*) FROM executions WHERE status = 'RUNNING'), 7::bigint, 'all are stored with their status');
SELECT is_empty(
    $$SELECT s.id, e.outcome, s.expected FROM sample s LEFT JOIN executions e ON e.id = s.id
    WHERE e.outcome IS DISTINCT FROM s.expected$$,
    'only an odd number of backslashes makes an escape'
);
SELECT is_empty(
    $$SELECT id, harel_load(id) FROM sample
    WHERE harel_load(id) IS DISTINCT FROM format('{"status":"RUNNING","outcome":"%s","x":"\u0000"}', escapes)$$,
    'and the data comes back byte for byte'
);

SELECT * FROM finish();
