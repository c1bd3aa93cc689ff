SELECT plan(5);

SELECT throws_ok($$SELECT harel_commit_cas(NULL, 'd', '{}', 0)$$, 'ST001', NULL, 'a NULL id is refused');
SELECT throws_ok($$SELECT harel_commit_cas('', 'd', '{}', 0)$$, 'ST001', NULL, 'an empty id is refused');
SELECT throws_ok($$SELECT harel_commit_cas(repeat('x', 1001), 'd', '{}', 0)$$, 'ST001', NULL, '1001 bytes are refused');
SELECT throws_ok($$SELECT harel_commit_cas(NULL, 'd', '{}', 1)$$, 'ST001', NULL, 'and NULL with a later version too');
SELECT is_empty('SELECT * FROM executions', 'nothing is written');

SELECT * FROM finish();
