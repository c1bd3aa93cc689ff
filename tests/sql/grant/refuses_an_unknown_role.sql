SELECT plan(4);

SELECT throws_ok($$SELECT harel_grant('harel_no_such_role', 'worker')$$, 'ST009', NULL, 'a role that does not exist');
SELECT throws_ok($$SELECT harel_grant(NULL, 'worker')$$, 'ST009', NULL, 'NULL');
SELECT throws_ok($$SELECT harel_grant('', 'none')$$, 'ST009', NULL, 'an empty name');
SELECT throws_ok($$SELECT harel_grant('public', 'reader')$$, 'ST009', NULL, 'PUBLIC, which is no role');

SELECT * FROM finish();
