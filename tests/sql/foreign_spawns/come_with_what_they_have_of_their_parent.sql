SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_join_shards('{north,south}', 'north');
    PERFORM harel_commit(
        'a', 'defn', '{"priority": 3}', 0, p_spawn_children => '{f,g,x,c}', p_spawn_root_paths => '{1,2,3,4}',
        p_spawn_contexts => '{1,2,[,4}'
    );
    PERFORM harel_suspend('a');
END
$$;
SELECT is(
    ARRAY(
        SELECT concat_ws(' ', parent_id, child_id, root_path, context, definition_id, priority, status)
        FROM harel_foreign_spawns('south')
    ),
    '{a g 2 2 defn 3 SUSPENDED,a c 4 4 defn 3 SUSPENDED}', 'those of the shard, but for what is not JSON'
);
SELECT is(ARRAY(SELECT child_id FROM harel_foreign_spawns('south', 1)), '{g}', 'the oldest first');
SELECT is_empty($$SELECT * FROM harel_foreign_spawns('north')$$, 'its own are not among them');
SELECT throws_ok($$SELECT * FROM harel_foreign_spawns('south', -1)$$, 'ST008', NULL, 'a limit is none below 0');

SELECT * FROM finish();
