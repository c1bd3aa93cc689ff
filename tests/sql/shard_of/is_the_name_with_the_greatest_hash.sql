SELECT plan(6);

SELECT is(harel_shard_of('a'), NULL, 'there are no shards');
DO $$
BEGIN
    PERFORM harel_join_shards('{south,north}', 'north');
END
$$;
SELECT is(
    ARRAY(SELECT harel_shard_of(id) FROM unnest('{a,f,order-1,c,e,new}'::text[]) AS i (id)),
    '{north,north,north,south,south,south}', 'each id has an owner'
);
SELECT is(harel_shard_of('ä'), 'south', 'of what is no ASCII the bytes of UTF-8 count');
SELECT is(harel_shard_of('雪'), 'north', 'however many they are');
SELECT is(
    ARRAY(SELECT DISTINCT harel_shard_of(id::text) = (
        SELECT n FROM unnest('{north,south}'::text[]) AS n
        ORDER BY sha256(convert_to(n, 'UTF8') || decode('00', 'hex') || convert_to(id::text, 'UTF8')) DESC
        LIMIT 1
    ) FROM generate_series(1, 100) AS id),
    '{true}', 'it is the one whose name, a zero byte and the id hash to the most'
);
SELECT throws_ok('SELECT harel_shard_of(NULL)', 'ST001', NULL, 'NULL is no id');

SELECT * FROM finish();
