SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
    PERFORM harel_commit_cas('e', 'd', '{}', 1);
    PERFORM harel_commit_cas('e', 'd', '{}', 2);
END
$$;

SELECT results_eq(
    $$SELECT * FROM harel_commit('e', 'd', '{}', 1, NULL, '{x}', '{hello}')$$, $$VALUES (false, 3, '{}'::bigint[])$$,
    'an old version is told the one found, and no seqs'
);
SELECT results_eq(
    $$SELECT * FROM harel_commit('e', 'd', '{}', 0)$$, $$VALUES (false, 3, '{}'::bigint[])$$, 'so is a first save'
);
SELECT results_eq(
    $$SELECT * FROM harel_commit('e', 'd', '{}', 9)$$, $$VALUES (false, 3, '{}'::bigint[])$$, 'and a version to come'
);
SELECT results_eq(
    $$SELECT * FROM harel_commit('e', 'd', '{}', 4294967299)$$, $$VALUES (false, 3, '{}'::bigint[])$$,
    'and one that no row can have'
);

SELECT * FROM finish();
