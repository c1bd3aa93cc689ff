SELECT plan(5);

SELECT throws_ok(
    $$SELECT * FROM harel_extend('{g,h}', ARRAY[gen_random_uuid()], 10)$$, 'ST004',
    'the arrays for leases must be parallel', 'fewer tokens'
);
SELECT throws_ok($$SELECT * FROM harel_extend('{g}', NULL, 10)$$, 'ST004', NULL, 'no tokens');
SELECT throws_ok($$SELECT * FROM harel_extend('{}', ARRAY[gen_random_uuid()], 10)$$, 'ST004', NULL, 'no groups');
SELECT throws_ok(
    $$SELECT * FROM harel_extend('{{g}}', ARRAY[[gen_random_uuid()]], 10)$$, 'ST004', NULL, 'two dimensions'
);
SELECT throws_ok($$SELECT * FROM harel_extend('[0:0]={g}', '[0:0]={NULL}', 10)$$, 'ST004', NULL, 'counted from 0');

SELECT * FROM finish();
