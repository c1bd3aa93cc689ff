SELECT plan(6);

DO $$
BEGIN
    PERFORM harel_commit_cas('p', 'old', '{}', 0);
    PERFORM harel_publish('p', 'ev', p_now => 100);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);
CREATE TEMP TABLE answer AS SELECT * FROM harel_finish(
    '{p}', (SELECT array_agg(token) FROM lease), '{new}', '{"{\"priority\": 3}"}', '{1}',
    p_spawn_commits => '{1,1}', p_spawn_children => '{p/a,p/b}', p_spawn_root_paths => '{left,right}',
    p_spawn_contexts => ARRAY['{"n":  1.0}', '[]'], p_now => 101
);
-- On several nodes the relay moves what is sent.
DO $$ BEGIN PERFORM harel_relay_spawns(p_now => 101), harel_relay(p_now => 101) WHERE harel__is_distributed(); END $$;

SELECT is(
    ARRAY(
        SELECT concat_ws(' ', id, definition_id, version, status, parent_id, priority)
        FROM executions WHERE id <> 'p' ORDER BY id
    ),
    '{p/a new 1 PENDING p 3,p/b new 1 PENDING p 3}', 'they have the definition and the priority of their parent'
);
SELECT is(
    ARRAY(SELECT data FROM executions WHERE id <> 'p' ORDER BY id),
    ARRAY[
        '{"id":"p/a","definition_id":"new","root_path":"left","status":"PENDING","context":{"n":  1.0},"parent_id":"p",'
        '"child_id":"p/a","priority":3,"version":1}',
        '{"id":"p/b","definition_id":"new","root_path":"right","status":"PENDING","context":[],"parent_id":"p",'
        '"child_id":"p/b","priority":3,"version":1}'
    ],
    'and data of their own'
);
SELECT is(
    ARRAY(SELECT concat_ws(' ', group_id, priority, available_at) FROM transport_groups ORDER BY group_id),
    '{p/a 3 101,p/b 3 101}', 'each has a message, at that priority'
);
SELECT is(
    ARRAY(
        SELECT concat_ws(' ', group_id, event::jsonb ->> 'kind', event::jsonb -> 'data')
        FROM transport_messages ORDER BY group_id
    ),
    ARRAY['p/a Start {}', 'p/b Start {}'], 'of kind Start'
);
SELECT ok(
    (
        SELECT count(DISTINCT event::jsonb ->> 'id') = 2 AND bool_and(event::jsonb ->> 'id' ~ '^[0-9a-f]{32}$')
        FROM transport_messages
    ), 'under an id of its own'
);
SELECT is_empty('SELECT * FROM spawns', 'nothing is left to be created');

SELECT * FROM finish();
