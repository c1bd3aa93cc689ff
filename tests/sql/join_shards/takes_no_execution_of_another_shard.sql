SELECT plan(9);

DO $$
BEGIN
    PERFORM harel_join_shards('{north,south}', 'north');
END
$$;
SELECT is(harel_commit_cas('a', 'd', '{}', 0), true, 'its own are committed');
SELECT throws_ok(
    $$SELECT harel_commit_cas('e', 'd', '{}', 0)$$, 'ST018', 'the execution belongs to another shard',
    'a first save elsewhere is refused'
);
SELECT throws_ok($$SELECT harel_commit('e', 'd', '{}', 0)$$, 'ST018', NULL, 'with or without effects');
SELECT is(harel_commit_cas('e', 'd', '{}', 1), false, 'a later one has lost, as it is not here');
SELECT throws_ok($$SELECT harel_publish('e', '{}')$$, 'ST018', NULL, 'a message for it is refused');
SELECT throws_ok($$SELECT harel_publish_many('{a,e}', '{1,2}')$$, 'ST018', NULL, 'with all that came with it');
SELECT throws_ok($$SELECT harel_send('e', '{}')$$, 'ST018', NULL, 'so is one for an execution that must exist');
SELECT is_empty('SELECT * FROM transport_messages', 'and none was published');
SELECT is(harel_publish('a', '{}') IS NOT NULL, true, 'those of its own are');

SELECT * FROM finish();
