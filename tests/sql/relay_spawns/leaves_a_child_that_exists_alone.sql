SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('c', 'other', '{"status": "RUNNING"}', 0);
    PERFORM harel_commit(
        'p', 'd',
        '{}', 0, p_spawn_children => '{c,new,new}', p_spawn_root_paths => '{1,2,3}', p_spawn_contexts => '{1,2,3}'
    );
END
$$;

SELECT is(harel_relay_spawns(p_now => 100), 3, 'all requests are settled');
SELECT is(
    (SELECT concat_ws(' ', definition_id, data, version) FROM executions WHERE id = 'c'),
    'other {"status": "RUNNING"} 1',
    'an execution under the id of a child stays as it is'
);
SELECT is(
    (SELECT data::jsonb ->> 'root_path' FROM executions WHERE id = 'new'), '2', 'of two under one id the first is made'
);
SELECT is(ARRAY(SELECT group_id FROM transport_messages), '{new}', 'only that one is started, and once');

SELECT * FROM finish();
