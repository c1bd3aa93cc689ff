SELECT plan(4);

DO $$ BEGIN PERFORM harel_commit_cas('e', 'd', '{}', 0, 'ev'); END $$;

SELECT is(harel_is_processed('e', NULL), false, 'a NULL event');
SELECT is(harel_is_processed(NULL, 'ev'), false, 'a NULL execution');
SELECT is(harel_is_processed('e', ''), false, 'an empty event');
SELECT is(harel_is_processed('', ''), false, 'an empty execution');

SELECT * FROM finish();
