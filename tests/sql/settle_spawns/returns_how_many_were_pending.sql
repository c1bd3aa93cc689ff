SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit(
        'a', 'd', '{}', 0, p_spawn_children => '{b,c,d}', p_spawn_root_paths => '{r,r,r}', p_spawn_contexts => '{1,2,3}'
    );
END
$$;
SELECT is(harel_settle_spawns(ARRAY(SELECT seq FROM spawns WHERE child_id < 'd') || 999::bigint), 2, 'those that were');
SELECT is(ARRAY(SELECT child_id FROM spawns), '{d}', 'the others stay');
SELECT is(harel_settle_spawns(NULL), 0, 'none of none');

SELECT * FROM finish();
