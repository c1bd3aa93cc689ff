SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_commit(
        'p', 'd',
        '{"status": "RUNNING"}', 0, p_spawn_children => '{c}', p_spawn_root_paths => '{r}', p_spawn_contexts => '{1}'
    );
    PERFORM harel_suspend('p');
END
$$;

SELECT is(harel_relay_spawns(p_now => 100), 1, 'the child is created');
SELECT is(
    ARRAY(SELECT id || status FROM executions ORDER BY id), '{cSUSPENDED,pSUSPENDED}', 'suspended like its parent'
);
SELECT is_empty($$SELECT * FROM harel_next('w', 30, p_now => 1e15)$$, 'and is not started');
SELECT is(harel_resume('p'), true, 'until the parent is resumed');
SELECT is(
    (SELECT concat_ws(' ', group_id, event::jsonb ->> 'kind', status) FROM harel_next('w', 30, p_now => 1e15)),
    'c Start PENDING', 'then it is'
);

SELECT * FROM finish();
