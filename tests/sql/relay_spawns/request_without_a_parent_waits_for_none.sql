SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit(
        p, 'd', '{}', 0, p_spawn_children => ARRAY[p || '/c'], p_spawn_root_paths => '{r}', p_spawn_contexts => '{1}'
    ) FROM unnest('{gone,there}'::text[]) p;
    DELETE FROM executions WHERE id = 'gone';
END
$$;

SELECT is(harel_relay_spawns(1, 100), 1, 'what follows is created');
SELECT is(ARRAY(SELECT id FROM executions ORDER BY id), '{there,there/c}', 'and the other is not');

SELECT * FROM finish();
