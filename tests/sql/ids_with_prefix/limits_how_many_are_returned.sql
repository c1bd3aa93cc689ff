SELECT plan(5);

DO $$ BEGIN PERFORM harel_commit_cas('e' || n, 'd', '{}', 0) FROM generate_series(100, 299) n; END $$;

SELECT is(ARRAY(SELECT harel_ids_with_prefix('e2', 3)), '{e200,e201,e202}', 'the first three');
SELECT is_empty($$SELECT harel_ids_with_prefix('e2', 0)$$, 'none');
SELECT is((SELECT count(*) FROM harel_ids_with_prefix('e2', 1000)), 100::bigint, 'no more than there are');
SELECT is((SELECT count(*) FROM harel_ids_with_prefix('e2', NULL)), 100::bigint, 'NULL is no limit');
SELECT throws_ok($$SELECT harel_ids_with_prefix('e2', -1)$$, 'ST008', NULL, 'a negative one is refused');

SELECT * FROM finish();
