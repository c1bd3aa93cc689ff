SELECT plan(2);

SELECT is(harel_commit_cas('e', 'd', '{}', 0), true, 'four arguments are enough');
SELECT is_empty('SELECT * FROM processed_events', 'no event is marked');

SELECT * FROM finish();
