SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{}', 0, NULL, NULL, NULL, '{z,a,m}', '{r1,r2,r3}', '{c1,c2,c3}');
    PERFORM harel_commit('e', 'd', '{}', 1, NULL, NULL, NULL, '{a}', '{r4}', '{c4}');
END
$$;

SELECT results_eq(
    'SELECT parent_id, child_id, root_path, context FROM harel_pending_spawns()',
    $$VALUES ('e', 'z', 'r1', 'c1'), ('e', 'a', 'r2', 'c2'), ('e', 'm', 'r3', 'c3'), ('e', 'a', 'r4', 'c4')$$,
    'of one commit and of the next'
);

SELECT * FROM finish();
