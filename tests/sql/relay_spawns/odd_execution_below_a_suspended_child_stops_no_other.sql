SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit(
        'p', 'd',
        '{"status": "SUSPENDED"}', 0, p_spawn_children => '{c}', p_spawn_root_paths => '{r}', p_spawn_contexts => '{1}'
    );
    PERFORM harel_commit_cas('odd', 'd', '{"status": {}, "parent_id": "c"}', 0);
    PERFORM harel_commit_cas('last', 'd', '{"status": "RUNNING", "parent_id": "c"}', 0);
    UPDATE executions SET version = 2147483647 WHERE id = 'last';
    PERFORM harel_commit(
        'other', 'd',
        '{"status": "RUNNING"}', 0, p_spawn_children => '{o}', p_spawn_root_paths => '{r}', p_spawn_contexts => '{1}'
    );
END
$$;

SELECT is(harel_relay_spawns(p_now => 100), 2, 'both children are created');
SELECT is(
    ARRAY(SELECT id || status FROM executions ORDER BY id),
    '{cSUSPENDED,lastRUNNING,oPENDING,"odd{}",otherRUNNING,pSUSPENDED}',
    'and what cannot be suspended stays as it was'
);

SELECT * FROM finish();
