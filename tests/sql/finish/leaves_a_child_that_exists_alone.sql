SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_commit_cas('p', 'd', '{}', 0);
    PERFORM harel_commit_cas('c', 'other', '{"status": "RUNNING"}', 0);
    PERFORM harel_publish('p', 'ev', p_now => 100);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);
CREATE TEMP TABLE answer AS SELECT * FROM harel_finish(
    '{p}', (SELECT array_agg(token) FROM lease), '{d}', '{1}', '{1}',
    p_spawn_commits => '{1,1,1,1}', p_spawn_children => '{c,new,new,p}', p_spawn_root_paths => '{a,b,c,d}',
    p_spawn_contexts => '{1,2,3,4}', p_now => 101
);
-- On several nodes the relay moves what is sent.
DO $$ BEGIN PERFORM harel_relay_spawns(p_now => 101), harel_relay(p_now => 101) WHERE harel__is_distributed(); END $$;

SELECT is((SELECT result FROM answer), 'finished', 'the parent is finished');
SELECT is(
    (SELECT concat_ws(' ', definition_id, data, version) FROM executions WHERE id = 'c'),
    'other {"status": "RUNNING"} 1',
    'an execution under the id of a child stays as it is'
);
SELECT is((SELECT version || data FROM executions WHERE id = 'p'), '21', 'so does the parent itself');
SELECT is(
    (SELECT data::jsonb ->> 'root_path' FROM executions WHERE id = 'new'), 'b',
    'of two under one id the first is created'
);
SELECT is(ARRAY(SELECT group_id FROM transport_messages), '{new}', 'and only that one is started');

SELECT * FROM finish();
