SELECT plan(3);

SELECT throws_ok($$SELECT * FROM harel_claim('w', 10, 1, -1)$$, 'ST010', 'a priority must be between 0 and 4', '-1');
SELECT throws_ok($$SELECT * FROM harel_claim('w', 10, 1, 5)$$, 'ST010', NULL, '5');
SELECT throws_ok($$SELECT * FROM harel_claim('w', 10, 1, NULL)$$, 'ST010', NULL, 'NULL');

SELECT * FROM finish();
