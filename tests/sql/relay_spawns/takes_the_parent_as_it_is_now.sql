SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_commit(
        'p', 'v1',
        '{"priority": 1}', 0, p_spawn_children => '{c}', p_spawn_root_paths => '{r}', p_spawn_contexts => '{1}'
    );
    PERFORM harel_commit_cas('p', 'v2', '{"priority": 3}', 1);
    PERFORM harel_relay_spawns(p_now => 100);
END
$$;

SELECT is((SELECT definition_id || priority FROM executions WHERE id = 'c'), 'v23', 'its definition and its priority');

SELECT * FROM finish();
