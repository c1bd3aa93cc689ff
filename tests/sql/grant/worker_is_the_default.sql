SELECT plan(1);

CREATE ROLE harel_test_role;
DO $$ BEGIN PERFORM harel_grant('harel_test_role'); END $$;
SET LOCAL ROLE harel_test_role;

SELECT is(harel_commit_cas('e', 'd', '{}', 0), true, 'without a kind of access a role may commit');

SELECT * FROM finish();
