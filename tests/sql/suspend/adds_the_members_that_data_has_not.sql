SELECT plan(2);

CREATE TEMP TABLE sample (id text, before text, after text);
INSERT INTO sample VALUES
('empty', '{}', '{"status":"SUSPENDED","version":2}'),
('blank', ' { } ', ' {"status":"SUSPENDED","version":2 } '),
('no status', '{"version":1}', '{"status":"SUSPENDED","version":2}'),
('no version', '{ "status":"RUNNING"}', '{"version":2, "status":"SUSPENDED"}'),
('neither', '{"a":{"status":"RUNNING"}}', '{"status":"SUSPENDED","version":2,"a":{"status":"RUNNING"}}'),
('null', '{"status":null,"version":null}', '{"status":"SUSPENDED","version":2}');
DO $$ BEGIN PERFORM harel_commit_cas(id, 'd', before, 0), harel_suspend(id) FROM sample; END $$;

SELECT is_empty(
    'SELECT id, before, harel_load(id) FROM sample WHERE harel_load(id) <> after', 'they stand at its beginning'
);
SELECT is_empty($$SELECT id FROM executions WHERE (status, version) <> ('SUSPENDED', 2)$$, 'and the rows agree');

SELECT * FROM finish();
