SELECT plan(3);

DO $$ BEGIN PERFORM harel_commit_cas('e', 'd', '{}', 0); END $$;

SELECT is(harel_commit_cas('e', 'd', '{"w": 1}', 1), true, 'the first of two equal calls wins');
SELECT is(harel_commit_cas('e', 'd', '{"w": 1}', 1), false, 'the second loses');
SELECT is((SELECT version FROM executions), 2, 'one version was made');

SELECT * FROM finish();
