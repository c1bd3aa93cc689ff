SELECT plan(4);

DO $$ BEGIN PERFORM harel_commit_cas('e', 'd', '{"n": 1}', 0); END $$;

SELECT is(harel_load('E'), NULL, 'an id of another case');
SELECT is(harel_load(''), NULL, 'an empty id');
SELECT is(harel_load(NULL), NULL, 'a NULL id');
SELECT is(harel_load(repeat('e', 5000)), NULL, 'an id that is too long');

SELECT * FROM finish();
