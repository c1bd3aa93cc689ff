SELECT plan(5);

SELECT is(harel_join_shards('{south,north}', 'north'), true, 'the first call writes the map');
SELECT is(harel_join_shards('{north,south}', 'north'), false, 'the next one, in any order, finds it');
SELECT is(ARRAY(SELECT name FROM shards ORDER BY name), '{north,south}', 'as it was');
SELECT is(ARRAY(SELECT DISTINCT joined_at = now() FROM shards), '{true}', 'it knows since when');
SELECT throws_ok($$SELECT harel_adopt('public')$$, 'ST014', NULL, 'what others have is adopted before');

SELECT * FROM finish();
