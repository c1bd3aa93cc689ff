SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_commit(
        'p', 'd', '{}', 0, p_spawn_children => '{c,a,b}', p_spawn_root_paths => '{r,r,r}', p_spawn_contexts => '{1,1,1}'
    );
END
$$;

SELECT is(harel_relay_spawns(0, 100), 0, 'none');
SELECT is((SELECT count(*) FROM executions), 1::bigint, 'creates none');
SELECT is(harel_relay_spawns(2, 100), 2, 'two');
SELECT is(ARRAY(SELECT id FROM executions WHERE id <> 'p' ORDER BY id), '{a,c}', 'are those asked for first');
SELECT is(harel_relay_spawns(NULL, 100), 1, 'NULL is no limit');

SELECT * FROM finish();
