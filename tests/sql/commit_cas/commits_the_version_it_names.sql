SELECT plan(5);

DO $$ BEGIN PERFORM harel_commit_cas('e', 'd', '{"n": 1}', 0); END $$;

SELECT is(harel_commit_cas('e', 'd', '{"n": 2}', 1), true, 'version 1 commits');
SELECT is(harel_load('e'), '{"n": 2}', 'its data is stored');
SELECT is((SELECT version FROM executions), 2, 'as version 2');
SELECT is(harel_commit_cas('e', 'd', '{"n": 3}', 2), true, 'version 2 commits after it');
SELECT is((SELECT version FROM executions), 3, 'as version 3');

SELECT * FROM finish();
