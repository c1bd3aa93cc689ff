SELECT plan(2);

SELECT results_eq(
    $$SELECT * FROM harel_commit('e', 'd', '{}', 1, 'ev', '{x}', '{hello}')$$,
    $$VALUES (false, NULL::integer, '{}'::bigint[])$$, 'there is no version to find'
);
SELECT is_empty('SELECT * FROM executions', 'and no row is made');

SELECT * FROM finish();
