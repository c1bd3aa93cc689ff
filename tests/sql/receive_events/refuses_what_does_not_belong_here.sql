SELECT plan(10);

SELECT throws_ok($$SELECT harel_receive_events('south', '{1}', '{a}', '{1}')$$, 'ST016', NULL, 'a store is no shard');
DO $$
BEGIN
    PERFORM harel_join_shards('{north,south}', 'north');
END
$$;
SELECT throws_ok($$SELECT harel_receive_events('west', '{1}', '{a}', '{1}')$$, 'ST016', NULL, 'from a stranger');
SELECT throws_ok($$SELECT harel_receive_events('north', '{1}', '{a}', '{1}')$$, 'ST016', NULL, 'from itself');
SELECT throws_ok($$SELECT harel_receive_events(NULL, '{1}', '{a}', '{1}')$$, 'ST016', NULL, 'from nobody');
SELECT throws_ok($$SELECT harel_receive_events('south', '{1,2}', '{a,e}', '{1,2}')$$, 'ST018', NULL, 'for another shard');
SELECT throws_ok($$SELECT harel_receive_events('south', '{1}', '{NULL}', '{1}')$$, 'ST001', NULL, 'for nobody');
SELECT throws_ok($$SELECT harel_receive_events('south', '{1}', '{a}', '{NULL}')$$, 'ST003', NULL, 'nothing');
SELECT throws_ok($$SELECT harel_receive_events('south', '{2,1}', '{a,a}', '{1,2}')$$, 'ST004', NULL, 'out of order');
SELECT throws_ok($$SELECT harel_receive_events('south', '{1}', '{a,a}', '{1,2}')$$, 'ST004', NULL, 'of unequal length');
SELECT is_empty('SELECT * FROM transport_messages', 'and nothing was taken');

SELECT * FROM finish();
