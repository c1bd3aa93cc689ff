SELECT plan(3);

SELECT is(harel_commit_cas('e', 'd', '{}', 0, NULL), true, 'a commit with a NULL event commits');
SELECT is(harel_commit_cas('e', 'd', '{}', 1, ''), true, 'and so does one with an empty event');
SELECT is_empty('SELECT * FROM processed_events', 'neither marks an event');

SELECT * FROM finish();
