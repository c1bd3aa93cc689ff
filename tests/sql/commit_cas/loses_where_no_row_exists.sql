SELECT plan(3);

SELECT is(harel_commit_cas('e', 'd', '{}', 1, 'ev'), false, 'a version of an unknown execution is told false');
SELECT is_empty('SELECT * FROM executions', 'no row is made');
SELECT is_empty('SELECT * FROM processed_events', 'no event is marked');

SELECT * FROM finish();
