SELECT plan(3);

SELECT throws_ok($$SELECT * FROM harel_claim('w', 10, p_now => 'NaN')$$, 'ST006', NULL, 'NaN');
SELECT throws_ok($$SELECT * FROM harel_claim('w', 10, p_now => 'Infinity')$$, 'ST006', NULL, 'infinity');
SELECT throws_ok($$SELECT * FROM harel_claim('w', 10, p_now => '-Infinity')$$, 'ST006', NULL, 'minus infinity');

SELECT * FROM finish();
