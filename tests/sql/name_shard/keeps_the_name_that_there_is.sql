SELECT plan(7);

CREATE TEMP TABLE given AS SELECT harel_name_shard() AS name;
SELECT is((SELECT length(name) FROM given), 32, 'a random name');
SELECT is(harel_name_shard(), (SELECT name FROM given), 'which stays');
SELECT is(harel_name_shard('north'), 'north', 'until another is given');
SELECT is(harel_name_shard('north'), 'north', 'once or twice');
DO $$
BEGIN
    PERFORM harel_join_shards('{south,north}', 'north');
END
$$;
SELECT is(harel_name_shard('west'), 'north', 'but one of several is called what the others call it');
SELECT is(
    ARRAY(SELECT concat_ws(' ', name, is_here) FROM harel_shards()), '{north t,south f}', 'and no other is there'
);
SELECT throws_ok($$SELECT harel_name_shard('')$$, 'ST001', NULL, 'an empty one is none');

SELECT * FROM finish();
