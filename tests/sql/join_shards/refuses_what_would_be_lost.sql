SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_commit_cas('a', 'd', '{}', 0);
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
END
$$;
SELECT throws_ok(
    $$SELECT harel_join_shards('{north,south}', 'north')$$, 'ST016', NULL, 'an execution would belong to another shard'
);
DO $$
BEGIN
    PERFORM harel_purge('e', 1);
    PERFORM harel_publish('e', '{}');
END
$$;
SELECT throws_ok($$SELECT harel_join_shards('{north,south}', 'north')$$, 'ST016', NULL, 'so would a message');
SELECT is_empty('SELECT * FROM shards', 'there is no map');
DO $$
BEGIN
    PERFORM harel_purge('e', 0);
END
$$;
SELECT is(harel_join_shards('{north,south}', 'north'), true, 'what is its own is no obstacle');
SELECT is(ARRAY(SELECT id FROM executions), '{a}', 'and stays');

SELECT * FROM finish();
