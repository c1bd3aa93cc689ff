SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit(
        'p', 'd', '{}', 0, p_spawn_children => '{bad,empty,two,good}', p_spawn_root_paths => '{r,r,r,r}',
        p_spawn_contexts => ARRAY['{"a": NaN}', '', '1, "status": "DONE"', '{"a": "\u0000", "b": 1e999999}']
    );
END
$$;

SELECT is(harel_relay_spawns(1, 100), 1, 'one is created');
SELECT is(ARRAY(SELECT id FROM executions WHERE id <> 'p'), '{good}', 'that whose context is JSON');
SELECT is(ARRAY(SELECT child_id FROM harel_pending_spawns()), '{bad,empty,two}', 'the others can be seen');
SELECT is(harel_relay_spawns(p_now => 100), 0, 'where they stay');

SELECT * FROM finish();
