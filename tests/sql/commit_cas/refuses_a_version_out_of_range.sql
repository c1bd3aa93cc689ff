SELECT plan(5);

DO $$ BEGIN PERFORM harel_commit_cas('e', 'd', '{}', 0); END $$;

SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', '{}', -1)$$, 'ST002', NULL, '-1 is refused');
SELECT throws_ok(
    $$SELECT harel_commit_cas('e', 'd', '{}', -9223372036854775808)$$, 'ST002', NULL, 'the least bigint is refused'
);
SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', '{}', NULL)$$, 'ST002', NULL, 'NULL is refused');
SELECT throws_ok($$SELECT harel_commit_cas('new', 'd', '{}', NULL)$$, 'ST002', NULL, 'NULL is no first save either');
SELECT is((SELECT array_agg(id || version) FROM executions), '{e1}', 'nothing is written');

SELECT * FROM finish();
