SELECT plan(6);

DO $$
BEGIN
    PERFORM harel_join_shards('{north,south}', 'north');
    PERFORM harel_commit(
        'a', 'd', '{}', 0, p_emit_targets => '{b,e,NULL}', p_emit_events => '{1,2,3}',
        p_spawn_children => '{f,g}', p_spawn_root_paths => '{r,r}', p_spawn_contexts => '{1,2}'
    );
END
$$;
SELECT is(ARRAY(SELECT concat_ws(' ', event, shard) FROM outbox ORDER BY seq), '{1,2 south,3}', 'events');
SELECT is(ARRAY(SELECT concat_ws(' ', child_id, shard) FROM spawns ORDER BY seq), '{f,"g south"}', 'and children');
SELECT is((SELECT (spawned, relayed) FROM harel_tick()), (1, 1), 'a tick moves what is its own');
SELECT is(ARRAY(SELECT group_id FROM transport_messages ORDER BY 1), '{b,f}', 'into its queue');
SELECT is((SELECT (spawned, relayed) FROM harel_tick()), (0, 0), 'and leaves the others');
SELECT is((SELECT (outbox, spawns) FROM harel_stats()), (1::bigint, 1::bigint), 'which wait');

SELECT * FROM finish();
