SELECT plan(4);

SELECT throws_ok(
    'SELECT harel_nack(NULL, gen_random_uuid())', 'ST001', 'a lease is named by its group and its token',
    'without a group'
);
SELECT throws_ok($$SELECT harel_nack('g', NULL)$$, 'ST001', NULL, 'without a token');
SELECT throws_ok('SELECT harel_nack(NULL, NULL)', 'ST001', NULL, 'without both');
SELECT throws_ok(
    $$SELECT harel_nack('g', gen_random_uuid(), p_now => 'NaN')$$, 'ST006', NULL, 'a clock that is no number'
);

SELECT * FROM finish();
