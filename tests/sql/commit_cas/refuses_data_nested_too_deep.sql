SELECT plan(5);

SELECT throws_ok(
    $$SELECT harel_commit_cas('e', 'd', repeat('[', 1000000) || repeat(']', 1000000), 0)$$, 'ST003', NULL,
    'a million arrays within each other are refused'
);
SELECT throws_ok(
    $$SELECT harel_commit_cas('e', 'd', repeat('{"a":', 1000000) || '1' || repeat('}', 1000000), 0)$$, 'ST003', NULL,
    'and a million objects'
);
SELECT is_empty('SELECT * FROM executions', 'nothing is written');
SELECT is(
    harel_commit_cas('e', 'd', '{"status":"RUNNING","x":' || repeat('[', 1000) || repeat(']', 1000) || '}', 0), true,
    'a thousand are stored'
);
SELECT is((SELECT status FROM executions), 'RUNNING', 'with their status');

SELECT * FROM finish();
