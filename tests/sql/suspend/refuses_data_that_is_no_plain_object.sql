SELECT plan(13);

CREATE TEMP TABLE sample (id text, data text);
INSERT INTO sample VALUES
('list', '[]'), ('list of one', '[1]'), ('list of objects', '[{"status":"RUNNING","version":1}]'), ('text', '"status"'),
('number', '5'), ('null', 'null'), ('true', 'true'), ('object as status', '{"version":1,"status":{"a":1}}'),
('list as status', '{"version":1,"status":["RUNNING"]}'),
('object as version', '{"version":{"n":1},"status":"RUNNING"}'),
('list with NUL', '["\u0000"]');
DO $$ BEGIN PERFORM harel_commit_cas(id, 'd', data, 0), harel_publish(id, 'ev', p_now => 100) FROM sample; END $$;

SELECT throws_ok(
    format('SELECT harel_suspend(%L)', id), 'ST003', 'data must be a JSON object with a plain status and version', id
) FROM sample;
SELECT is_empty(
    'SELECT s.id FROM sample s JOIN executions e ON e.id = s.id WHERE e.data <> s.data OR e.version <> 1',
    'they stay as they are'
);
SELECT is(
    (SELECT count(*) FROM transport_groups WHERE available_at = 100), 11::bigint, 'and their messages can be claimed'
);

SELECT * FROM finish();
