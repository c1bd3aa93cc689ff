SELECT plan(2);

SELECT throws_ok('SELECT * FROM harel_due_timers(NULL)', 'ST006', NULL, 'NULL');
SELECT throws_ok($$SELECT * FROM harel_due_timers('NaN')$$, 'ST006', NULL, 'NaN, which would be later than any time');

SELECT * FROM finish();
