SELECT plan(4);

SELECT is_empty('SELECT * FROM harel_shards()', 'a store is no shard at first');
SELECT isnt(harel_name_shard('north'), NULL, 'not even where it has a name');
SELECT is_empty('SELECT * FROM harel_shards()', 'of which others know nothing');
DO $$
BEGIN
    PERFORM harel_join_shards('{south,east,north}', 'north');
END
$$;
SELECT is(
    ARRAY(SELECT concat_ws(' ', name, is_here) FROM harel_shards()), '{east f,north t,south f}',
    'all shards in the order of their names'
);

SELECT * FROM finish();
