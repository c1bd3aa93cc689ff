SELECT plan(2);

DO $$ BEGIN PERFORM harel_commit_cas('e', 'd', '{"n": 1}', 0); END $$;

SELECT is(harel_commit_cas('e', 'd', '{"n": 9}', 2), false, 'a version in the future is told false');
SELECT is(harel_load('e'), '{"n": 1}', 'and nothing changes');

SELECT * FROM finish();
