SELECT plan(5);

CREATE ROLE harel_test_role;

SELECT throws_ok($$SELECT harel_grant('harel_test_role', 'admin')$$, 'ST009', NULL, 'another word');
SELECT throws_ok($$SELECT harel_grant('harel_test_role', 'WORKER')$$, 'ST009', NULL, 'capitals');
SELECT throws_ok($$SELECT harel_grant('harel_test_role', '')$$, 'ST009', NULL, 'an empty text');
SELECT throws_ok($$SELECT harel_grant('harel_test_role', NULL)$$, 'ST009', NULL, 'NULL');
SELECT is_empty(
    $$SELECT p.proname FROM pg_proc p, aclexplode(p.proacl) a WHERE a.grantee = 'harel_test_role'::regrole$$, 'nothing is granted'
);

SELECT * FROM finish();
