SELECT plan(7);

CREATE FUNCTION pg_temp.everything() RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(
        ' / ',
        (SELECT array_agg(t::text ORDER BY t.id)::text FROM executions t),
        (SELECT array_agg(t::text ORDER BY t.seq)::text FROM outbox t),
        (SELECT array_agg(t::text ORDER BY t.execution_id, t.event_id)::text FROM processed_events t),
        (SELECT array_agg(t::text ORDER BY t.execution_id, t.path)::text FROM timers t),
        (SELECT array_agg(t::text ORDER BY t.seq)::text FROM spawns t),
        (SELECT array_agg(t::text ORDER BY t.execution_id, t.idx)::text FROM trace t),
        (SELECT array_agg(t::text ORDER BY t.group_id)::text FROM transport_groups t),
        (SELECT array_agg(t::text ORDER BY t.group_id, t.seq)::text FROM transport_messages t)
    )
$$;
DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{}', 0, 'ev', '{e}', '{hi}', '{c}', '{r}', '{1}', '{schedule}', '{t}', '{100}',
    'step');
    PERFORM harel_commit_cas('e', 'd', '{}', 1);
    PERFORM harel_publish('e', 'ev', p_now => 100);
END
$$;
CREATE TEMP TABLE before AS SELECT pg_temp.everything() AS content;

SELECT is(harel_purge('e', 1), false, 'the version before');
SELECT is(harel_purge('e', 3), false, 'one not reached yet');
SELECT is(harel_purge('e', 0), false, 'none');
SELECT is(harel_purge('e', -1), false, 'one that no execution has');
SELECT is(harel_purge('e', 9223372036854775807), false, 'nor this');
SELECT is(pg_temp.everything(), (SELECT content FROM before), 'removes nothing');
SELECT is(harel_purge('e', 2), true, 'the one that it has does');

SELECT * FROM finish();
