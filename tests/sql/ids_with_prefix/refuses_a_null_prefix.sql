SELECT plan(1);

SELECT throws_ok('SELECT harel_ids_with_prefix(NULL)', 'ST001', NULL, 'NULL is refused');

SELECT * FROM finish();
