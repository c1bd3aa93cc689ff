SELECT plan(4);

SELECT is_empty('SELECT harel_waiting_shards()', 'without shards there is none');
DO $$
BEGIN
    PERFORM harel_join_shards('{north,south}', 'north');
    PERFORM harel_commit('a', 'd', '{}', 0, p_emit_targets => '{b,NULL}', p_emit_events => '{1,2}');
END
$$;
SELECT is_empty('SELECT harel_waiting_shards()', 'what is its own waits for none');
DO $$
BEGIN
    PERFORM harel_commit('a', 'd', '{}', 1, p_emit_targets => '{e}', p_emit_events => '{1}');
END
$$;
SELECT is(ARRAY(SELECT harel_waiting_shards()), '{south}', 'an event waits');
DO $$
BEGIN
    PERFORM harel_settle_outbox(ARRAY(SELECT seq FROM outbox));
    PERFORM harel_commit(
        'a', 'd', '{}', 2, p_spawn_children => '{g}', p_spawn_root_paths => '{r}', p_spawn_contexts => '{1}'
    );
END
$$;
SELECT is(ARRAY(SELECT harel_waiting_shards()), '{south}', 'a child waits');

SELECT * FROM finish();
