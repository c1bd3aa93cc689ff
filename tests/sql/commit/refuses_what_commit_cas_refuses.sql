SELECT plan(13);

SELECT throws_ok($$SELECT harel_commit(NULL, 'd', '{}', 0)$$, 'ST001', NULL, 'a NULL id');
SELECT throws_ok($$SELECT harel_commit('', 'd', '{}', 0)$$, 'ST001', NULL, 'an empty id');
SELECT throws_ok($$SELECT harel_commit(repeat('x', 1001), 'd', '{}', 0)$$, 'ST001', NULL, 'an id of 1001 bytes');
SELECT throws_ok($$SELECT harel_commit('e', NULL, '{}', 0)$$, 'ST001', NULL, 'a NULL definition');
SELECT throws_ok($$SELECT harel_commit('e', '', '{}', 0)$$, 'ST001', NULL, 'an empty definition');
SELECT throws_ok($$SELECT harel_commit('e', 'd', '{}', 0, repeat('x', 1001))$$, 'ST001', NULL, 'an event of 1001 bytes');
SELECT throws_ok($$SELECT harel_commit('e', 'd', '{}', -1)$$, 'ST002', NULL, 'a version of -1');
SELECT throws_ok($$SELECT harel_commit('e', 'd', '{}', NULL)$$, 'ST002', NULL, 'a NULL version');
SELECT throws_ok($$SELECT harel_commit('e', 'd', '{}', 2147483647)$$, 'ST002', NULL, 'the last version');
SELECT throws_ok($$SELECT harel_commit('e', 'd', NULL, 0)$$, 'ST003', NULL, 'NULL data');
SELECT throws_ok($$SELECT harel_commit('e', 'd', 'x', 0)$$, 'ST003', NULL, 'data that is not JSON');
SELECT throws_ok($$SELECT harel_commit('e', 'd', '{"x": NaN}', 0)$$, 'ST003', NULL, 'NaN');
SELECT is_empty('SELECT * FROM executions', 'nothing is written');

SELECT * FROM finish();
