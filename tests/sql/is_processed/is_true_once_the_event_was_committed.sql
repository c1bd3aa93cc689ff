SELECT plan(5);

SELECT is(harel_is_processed('e', 'ev'), false, 'not before the commit');
SELECT is(harel_commit_cas('e', 'd', '{}', 0, 'ev'), true, 'the commit');
SELECT is(harel_is_processed('e', 'ev'), true, 'after it');
SELECT is(harel_commit_cas('e', 'd', '{}', 1, 'ev2'), true, 'another commit');
SELECT is(harel_is_processed('e', 'ev'), true, 'after another too');

SELECT * FROM finish();
