SELECT plan(3);

CREATE ROLE harel_test_role;
DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
    PERFORM harel_grant('harel_test_role', 'worker');
    PERFORM harel_grant('harel_test_role', 'reader');
END
$$;

SELECT is(
    ARRAY(
        SELECT DISTINCT a.privilege_type FROM pg_class c, aclexplode(c.relacl) a
        WHERE a.grantee = 'harel_test_role'::regrole
    ), '{SELECT}', 'of tables and sequences it has only what a reader has'
);
SET LOCAL ROLE harel_test_role;
SELECT is(harel_load('e'), '{}', 'it loads');
SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', '{}', 1)$$, '42501', NULL, 'it does not commit');

SELECT * FROM finish();
