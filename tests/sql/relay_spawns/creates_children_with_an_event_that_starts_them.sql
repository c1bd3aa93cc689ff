SELECT plan(7);

DO $$
BEGIN
    PERFORM harel_commit(
        'p', 'door', '{"priority": 2}', 0, p_spawn_children => '{p/a,p/b}', p_spawn_root_paths => '{left,right}',
        p_spawn_contexts => ARRAY['{"n":  1.0}', '[]']
    );
END
$$;

SELECT is(harel_relay_spawns(p_now => 100), 2, 'it says how many');
SELECT is(
    ARRAY(
        SELECT concat_ws(' ', id, definition_id, version, status, parent_id, priority)
        FROM executions WHERE id <> 'p' ORDER BY id
    ),
    '{p/a door 1 PENDING p 2,p/b door 1 PENDING p 2}', 'they have the definition and the priority of their parent'
);
SELECT is(
    ARRAY(SELECT data FROM executions WHERE id <> 'p' ORDER BY id),
    ARRAY[
        '{"id":"p/a","definition_id":"door","root_path":"left","status":"PENDING","context":{"n":  1.0},'
        '"parent_id":"p","child_id":"p/a","priority":2,"version":1}',
        '{"id":"p/b","definition_id":"door","root_path":"right","status":"PENDING","context":[],"parent_id":"p",'
        '"child_id":"p/b","priority":2,"version":1}'
    ],
    'and data of their own, with the context byte for byte'
);
SELECT is(
    ARRAY(SELECT concat_ws(' ', group_id, priority, available_at) FROM transport_groups ORDER BY group_id),
    '{p/a 2 100,p/b 2 100}', 'each has a message, at that priority'
);
SELECT is(
    ARRAY(
        SELECT concat_ws(' ', group_id, event::jsonb ->> 'kind', event::jsonb -> 'data')
        FROM transport_messages ORDER BY group_id
    ),
    ARRAY['p/a Start {}', 'p/b Start {}'], 'of kind Start'
);
SELECT is_empty('SELECT * FROM spawns', 'what was asked for is settled');
SELECT is(harel_relay_spawns(p_now => 101), 0, 'and not done again');

SELECT * FROM finish();
