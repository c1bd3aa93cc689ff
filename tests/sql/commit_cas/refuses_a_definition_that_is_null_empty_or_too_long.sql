SELECT plan(4);

SELECT throws_ok($$SELECT harel_commit_cas('e', NULL, '{}', 0)$$, 'ST001', NULL, 'a NULL definition is refused');
SELECT throws_ok($$SELECT harel_commit_cas('e', '', '{}', 0)$$, 'ST001', NULL, 'an empty definition is refused');
SELECT throws_ok($$SELECT harel_commit_cas('e', repeat('x', 1001), '{}', 0)$$, 'ST001', NULL, '1001 bytes are refused');
SELECT is_empty('SELECT * FROM executions', 'nothing is written');

SELECT * FROM finish();
