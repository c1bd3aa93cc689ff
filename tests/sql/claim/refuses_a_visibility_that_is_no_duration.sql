SELECT plan(5);

SELECT throws_ok(
    $$SELECT * FROM harel_claim('w', NULL)$$, 'ST011', 'the visibility must be a number of seconds from 0 to 1e300', 'NULL'
);
SELECT throws_ok($$SELECT * FROM harel_claim('w', -1)$$, 'ST011', NULL, '-1');
SELECT throws_ok($$SELECT * FROM harel_claim('w', 'NaN')$$, 'ST011', NULL, 'NaN');
SELECT throws_ok($$SELECT * FROM harel_claim('w', 'Infinity')$$, 'ST011', NULL, 'infinity');
SELECT lives_ok($$SELECT * FROM harel_claim('w', 1e300)$$, 'any other is taken');

SELECT * FROM finish();
