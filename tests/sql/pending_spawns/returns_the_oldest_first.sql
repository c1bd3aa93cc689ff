SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit('f', 'd', '{}', 0, NULL, NULL, NULL, '{z,a}', '{r1,r2}', '{1,2}');
    PERFORM harel_commit('e', 'd', '{}', 0, NULL, NULL, NULL, '{m}', '{r3}', '{3}');
END
$$;

SELECT results_eq(
    'SELECT parent_id, child_id, root_path, context FROM harel_pending_spawns()',
    $$VALUES ('f', 'z', 'r1', '1'), ('f', 'a', 'r2', '2'), ('e', 'm', 'r3', '3')$$, 'in the order of the commits'
);
SELECT is(
    ARRAY(SELECT seq FROM harel_pending_spawns()), ARRAY(SELECT seq FROM spawns ORDER BY seq), 'with the seqs to ack them by'
);

SELECT * FROM finish();
