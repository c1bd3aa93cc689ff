SELECT plan(3);

SELECT throws_ok('SELECT * FROM harel_list(p_limit => 0)', 'ST008', NULL, '0');
SELECT throws_ok('SELECT * FROM harel_list(p_limit => -1)', 'ST008', NULL, '-1');
SELECT throws_ok('SELECT * FROM harel_list(p_limit => -2147483648)', 'ST008', NULL, 'the least integer');

SELECT * FROM finish();
