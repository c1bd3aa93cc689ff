SELECT plan(3);

DO $$ BEGIN PERFORM harel_commit_cas('e', 'd', '{}', 0, 'ev'); END $$;

SELECT is(harel_is_processed('f', 'ev'), false, 'another execution');
SELECT is(harel_is_processed('e', 'EV'), false, 'another event');
SELECT is(harel_is_processed('ev', 'e'), false, 'the two exchanged');

SELECT * FROM finish();
