SELECT plan(5);

DO $$ BEGIN PERFORM harel_commit_cas('e', 'd', '{"n": 1}', 0); END $$;

SELECT is(harel_commit_cas('e', 'other', '{"n": 2}', 0, 'ev'), false, 'a second first save is told false');
SELECT is(harel_load('e'), '{"n": 1}', 'the data is that of the first');
SELECT is((SELECT definition_id FROM executions), 'd', 'and so is the definition');
SELECT is((SELECT version FROM executions), 1, 'the version is still 1');
SELECT is_empty('SELECT * FROM processed_events', 'and the event is not marked');

SELECT * FROM finish();
