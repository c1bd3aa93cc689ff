SELECT plan(4);

SELECT is(harel_commit_cas('e', 'd', '{}', 0, 'ev1'), true, 'a first save with an event commits');
SELECT is(harel_commit_cas('e', 'd', '{}', 1, 'ev2'), true, 'and so does a second commit');
SELECT is(
    ARRAY(SELECT execution_id || ' ' || event_id FROM processed_events ORDER BY event_id), '{e ev1,e ev2}',
    'both events are marked for the execution'
);
SELECT is(ARRAY(SELECT DISTINCT processed_at FROM processed_events), ARRAY[now()], 'with the time of the transaction');

SELECT * FROM finish();
