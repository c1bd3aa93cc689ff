SELECT plan(5);

SELECT is(harel_commit_cas('e', 'd', '{"status": "RUNNING"}', 0, 'ev'), true, 'the first save commits');
SELECT is((SELECT version FROM executions WHERE id = 'e'), 1, 'at version 1');
SELECT is((SELECT definition_id FROM executions WHERE id = 'e'), 'd', 'of the definition given');
SELECT is((SELECT data FROM executions WHERE id = 'e'), '{"status": "RUNNING"}', 'with the data given');
SELECT is((SELECT count(*) FROM executions), 1::bigint, 'and there is one row');

SELECT * FROM finish();
