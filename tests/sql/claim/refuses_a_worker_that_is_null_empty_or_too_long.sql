SELECT plan(4);

SELECT throws_ok(
    'SELECT * FROM harel_claim(NULL, 10)', 'ST001', 'the worker must be a text of 1 to 1000 bytes', 'NULL'
);
SELECT throws_ok($$SELECT * FROM harel_claim('', 10)$$, 'ST001', NULL, 'empty');
SELECT throws_ok($$SELECT * FROM harel_claim(repeat('x', 1001), 10)$$, 'ST001', NULL, '1001 bytes');
SELECT lives_ok($$SELECT * FROM harel_claim(repeat('x', 1000), 10)$$, '1000 bytes are taken');

SELECT * FROM finish();
