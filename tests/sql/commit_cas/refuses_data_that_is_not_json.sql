SELECT plan(12);

SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', '', 0, 'ev')$$, 'ST003', NULL, 'an empty text is refused');
SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', '   ', 0, 'ev')$$, 'ST003', NULL, 'blanks are refused');
SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', 'running', 0, 'ev')$$, 'ST003', NULL, 'a bare word is refused');
SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', '{"a": 1', 0, 'ev')$$, 'ST003', NULL, 'half an object is refused');
SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', '{"a": 1} x', 0, 'ev')$$, 'ST003', NULL, 'text after it is refused');
SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', '{''a'': 1}', 0, 'ev')$$, 'ST003', NULL, 'single quotes are refused');
SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', '{"a": "\x"}', 0, 'ev')$$, 'ST003', NULL, 'an unknown escape is refused');
SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', '{"a": "\u00"}', 0, 'ev')$$, 'ST003', NULL, 'a short escape is refused');
SELECT throws_ok(
    $$SELECT harel_commit_cas('e', 'd', E'{"a": "\t"}', 0, 'ev')$$, 'ST003', NULL, 'a bare control character is refused'
);
SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', NULL, 0, 'ev')$$, 'ST003', NULL, 'NULL is refused');
SELECT is_empty('SELECT * FROM executions', 'no execution is written');
SELECT is_empty('SELECT * FROM processed_events', 'and no event is marked');

SELECT * FROM finish();
