SELECT plan(1);

CREATE ROLE harel_test_role;
DO $$
BEGIN
    PERFORM harel_grant('harel_test_role', 'reader');
    PERFORM harel_grant('harel_test_role', 'worker');
    PERFORM harel_grant('harel_test_role', 'worker');
END
$$;
SET LOCAL ROLE harel_test_role;

SELECT is(harel_commit_cas('e', 'd', '{}', 0), true, 'and a grant made twice is one');

SELECT * FROM finish();
