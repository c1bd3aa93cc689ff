SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit(
        'a', 'd', '{}', 0, p_emit_targets => '{b,e,NULL}', p_emit_events => '{1,2,3}',
        p_spawn_children => '{f,g}', p_spawn_root_paths => '{r,r}', p_spawn_contexts => '{1,2}'
    );
    PERFORM harel_join_shards('{north,south}', 'north');
END
$$;
SELECT is(
    ARRAY(SELECT concat_ws(' ', event, shard) FROM outbox ORDER BY seq), '{1,2 south,3}', 'events know their shard'
);
SELECT is(ARRAY(SELECT concat_ws(' ', child_id, shard) FROM spawns ORDER BY seq), '{f,"g south"}', 'so do children');

SELECT * FROM finish();
