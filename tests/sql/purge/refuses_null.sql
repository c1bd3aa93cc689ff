SELECT plan(3);

DO $$ BEGIN PERFORM harel_commit_cas('e', 'd', '{}', 0); END $$;

SELECT throws_ok('SELECT harel_purge(NULL, 1)', 'ST001', NULL, 'for the execution');
SELECT throws_ok($$SELECT harel_purge('e', NULL)$$, 'ST002', NULL, 'for the version');
SELECT is((SELECT count(*) FROM executions), 1::bigint, 'nothing is removed');

SELECT * FROM finish();
