SELECT plan(2);

DO $$ BEGIN PERFORM harel_commit_cas('e', 'd:1', '{}', 0); END $$;

SELECT is(harel_commit_cas('e', 'd:2', '{}', 1), true, 'a commit may name another definition');
SELECT is((SELECT definition_id FROM executions), 'd:2', 'which is stored');

SELECT * FROM finish();
