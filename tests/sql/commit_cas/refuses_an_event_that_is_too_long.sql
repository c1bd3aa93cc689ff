SELECT plan(2);

SELECT throws_ok(
    $$SELECT harel_commit_cas('e', 'd', '{}', 0, repeat('x', 1001))$$, 'ST001', NULL, 'an event of 1001 bytes is refused'
);
SELECT is_empty('SELECT * FROM executions', 'nothing is written');

SELECT * FROM finish();
