SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit('p', 'd',
    '{}', 0, p_spawn_children => '{c}', p_spawn_root_paths => '{r}', p_spawn_contexts => '{1}');
END
$$;

SELECT throws_ok('SELECT harel_relay_spawns(-1)', 'ST008', NULL, 'a negative limit');
SELECT throws_ok($$SELECT harel_relay_spawns(p_now => 'NaN')$$, 'ST006', NULL, 'NaN');
SELECT throws_ok($$SELECT harel_relay_spawns(p_now => '-Infinity')$$, 'ST006', NULL, 'Infinity');
SELECT is((SELECT count(*) FROM executions), 1::bigint, 'nothing is created');

SELECT * FROM finish();
