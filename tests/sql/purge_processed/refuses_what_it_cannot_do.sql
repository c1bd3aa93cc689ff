SELECT plan(4);

SELECT throws_ok('SELECT harel_purge_processed(NULL)', 'ST011', NULL, 'no age');
SELECT throws_ok('SELECT harel_purge_processed(-1)', 'ST011', NULL, 'a negative one');
SELECT throws_ok('SELECT harel_purge_processed(0, -1)', 'ST008', NULL, 'a negative limit');
SELECT throws_ok($$SELECT harel_purge_processed(0, 1, 'NaN')$$, 'ST006', NULL, 'no time');

SELECT * FROM finish();
