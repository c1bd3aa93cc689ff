SELECT plan(6);

CREATE ROLE harel_test_role;
SET LOCAL ROLE harel_test_role;

SELECT throws_ok($$SELECT harel_load('e')$$, '42501', NULL, 'it does not load');
SELECT throws_ok('SELECT * FROM harel_list()', '42501', NULL, 'nor list');
SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', '{}', 0)$$, '42501', NULL, 'nor commit');
SELECT throws_ok('SELECT * FROM executions', '42501', NULL, 'nor read a table');
SELECT throws_ok('SELECT harel_version()', '42501', NULL, 'nor ask for the version');
SELECT throws_ok($$SELECT harel_grant('harel_test_role', 'worker')$$, '42501', NULL, 'nor let itself in');

SELECT * FROM finish();
