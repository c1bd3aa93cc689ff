SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{}', 0, 'ev', '{e}', '{hi}', '{c}', '{r}', '{1}', '{schedule}', '{t}', '{100}',
    'step');
    PERFORM harel_publish('e', 'ev', p_now => 100);
    PERFORM harel_append_trace('other', 'step');
    DELETE FROM executions;
END
$$;

SELECT is(harel_purge('e', 1), false, 'no execution is removed');
SELECT is(
    ARRAY[
        (SELECT count(*) FROM outbox), (SELECT count(*) FROM processed_events), (SELECT count(*) FROM timers),
        (SELECT count(*) FROM spawns), (SELECT count(*) FROM transport_groups),
        (SELECT count(*) FROM transport_messages)
    ], '{0,0,0,0,0,0}', 'but all that was left of it'
);
SELECT is(ARRAY(SELECT execution_id FROM trace), '{other}', 'and of no other');
SELECT is(harel_purge('e', 7), false, 'once more there is nothing to remove');

SELECT * FROM finish();
