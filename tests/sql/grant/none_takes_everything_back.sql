SELECT plan(4);

CREATE ROLE harel_test_role;
DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
    PERFORM harel_grant('harel_test_role', 'worker');
    PERFORM harel_grant('harel_test_role', 'none');
END
$$;

SELECT is_empty(
    $$SELECT c.relname, a.privilege_type FROM pg_class c, aclexplode(c.relacl) a
    WHERE a.grantee = 'harel_test_role'::regrole$$, 'no table or sequence is left to it'
);
SELECT is_empty(
    $$SELECT p.proname FROM pg_proc p, aclexplode(p.proacl) a WHERE a.grantee = 'harel_test_role'::regrole$$, 'and no function'
);
SET LOCAL ROLE harel_test_role;
SELECT throws_ok($$SELECT harel_load('e')$$, '42501', NULL, 'it does not load');
SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', '{}', 1)$$, '42501', NULL, 'nor commit');

SELECT * FROM finish();
