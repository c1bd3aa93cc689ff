SELECT plan(6);

SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', '{"x": NaN}', 0)$$, 'ST003', NULL, 'NaN is refused');
SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', '{"x": Infinity}', 0)$$, 'ST003', NULL, 'Infinity is refused');
SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', '{"x": -Infinity}', 0)$$, 'ST003', NULL, '-Infinity is refused');
SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', 'NaN', 0)$$, 'ST003', NULL, 'NaN alone is refused');
SELECT throws_ok(
    $$SELECT harel_commit_cas('e', 'd', '{"a": "\u0000", "x": NaN}', 0)$$, 'ST003', NULL, 'NaN beside a NUL escape is refused'
);
SELECT is_empty('SELECT * FROM executions', 'nothing is written');

SELECT * FROM finish();
