SELECT plan(7);

SELECT throws_ok($$SELECT harel_append_trace(NULL, 'a')$$, 'ST001', NULL, 'a NULL id');
SELECT throws_ok($$SELECT harel_append_trace('', 'a')$$, 'ST001', NULL, 'an empty id');
SELECT throws_ok($$SELECT harel_append_trace(repeat('x', 1001), 'a')$$, 'ST001', NULL, 'an id of 1001 bytes');
SELECT throws_ok($$SELECT harel_append_trace('e', NULL)$$, 'ST003', NULL, 'a NULL entry');
SELECT throws_ok($$SELECT harel_append_trace('e', 'a', -1)$$, 'ST002', NULL, 'a cap of -1');
SELECT is_empty('SELECT * FROM trace', 'nothing is written');
SELECT is(harel_append_trace(repeat('x', 1000), 'a'), 0, 'an id of 1000 bytes is taken');

SELECT * FROM finish();
