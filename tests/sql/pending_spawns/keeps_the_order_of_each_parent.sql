SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_commit('f', 'd', '{}', 0, NULL, NULL, NULL, '{z,a}', '{r1,r2}', '{1,2}');
    PERFORM harel_commit('e', 'd', '{}', 0, NULL, NULL, NULL, '{m}', '{r3}', '{3}');
    PERFORM harel_commit('f', 'd', '{}', 1, NULL, NULL, NULL, '{b}', '{r4}', '{4}');
END
$$;

SELECT results_eq(
    $$SELECT child_id, root_path, context FROM harel_pending_spawns() WHERE parent_id = 'f'$$,
    $$VALUES ('z', 'r1', '1'), ('a', 'r2', '2'), ('b', 'r4', '4')$$, 'as it asked for them'
);

SELECT * FROM finish();
