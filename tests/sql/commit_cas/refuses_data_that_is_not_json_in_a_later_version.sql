SELECT plan(5);

DO $$ BEGIN PERFORM harel_commit_cas('e', 'd', '{"n": 1}', 0); END $$;

SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', '{', 1, 'ev')$$, 'ST003', NULL, 'half an object is refused');
SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', NULL, 1, 'ev')$$, 'ST003', NULL, 'NULL is refused');
SELECT is(harel_load('e'), '{"n": 1}', 'the version before stays');
SELECT is((SELECT version FROM executions), 1, 'at its number');
SELECT is_empty('SELECT * FROM processed_events', 'and no event is marked');

SELECT * FROM finish();
