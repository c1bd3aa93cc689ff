SELECT plan(9);

SELECT throws_ok($$SELECT harel_join_shards('{a,b,a}', 'a')$$, 'ST016', NULL, 'a name that is there twice');
SELECT throws_ok($$SELECT harel_join_shards('{a,b}', 'c')$$, 'ST016', NULL, 'a shard that is none of them');
SELECT throws_ok($$SELECT harel_join_shards('{a,b}', NULL)$$, 'ST016', NULL, 'one without a name');
SELECT throws_ok($$SELECT harel_join_shards(NULL, 'a')$$, 'ST016', NULL, 'no shards at all');
SELECT throws_ok($$SELECT harel_join_shards('{a,NULL}', 'a')$$, 'ST001', NULL, 'another without a name');
DO $$
BEGIN
    PERFORM harel_join_shards('{north,south}', 'north');
END
$$;
SELECT throws_ok($$SELECT harel_join_shards('{east,north,south}', 'north')$$, 'ST016', NULL, 'one more');
SELECT throws_ok($$SELECT harel_join_shards('{north}', 'north')$$, 'ST016', NULL, 'one fewer');
SELECT throws_ok($$SELECT harel_join_shards('{north,south}', 'south')$$, 'ST016', NULL, 'the place of another');
SELECT is(
    ARRAY(SELECT concat_ws(' ', name, is_here) FROM harel_shards()), '{north t,south f}', 'nothing was changed'
);

SELECT * FROM finish();
