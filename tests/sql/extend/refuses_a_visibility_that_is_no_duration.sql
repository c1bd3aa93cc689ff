SELECT plan(6);

SELECT throws_ok(
    'SELECT * FROM harel_extend(NULL, NULL, NULL)', 'ST011', 'the visibility must be a number of seconds from 0 to 1e300',
    'NULL'
);
SELECT throws_ok('SELECT * FROM harel_extend(NULL, NULL, -1)', 'ST011', NULL, '-1');
SELECT throws_ok($$SELECT * FROM harel_extend(NULL, NULL, 'NaN')$$, 'ST011', NULL, 'NaN');
SELECT throws_ok($$SELECT * FROM harel_extend(NULL, NULL, 'Infinity')$$, 'ST011', NULL, 'infinity');
SELECT throws_ok($$SELECT * FROM harel_extend(NULL, NULL, 1, 'NaN')$$, 'ST006', NULL, 'nor a clock that is no number');
SELECT lives_ok('SELECT * FROM harel_extend(NULL, NULL, 1e300)', 'any other is taken');

SELECT * FROM finish();
