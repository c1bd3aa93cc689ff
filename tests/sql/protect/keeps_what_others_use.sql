SELECT plan(2);

CREATE ROLE harel_test_role;
DO $$ BEGIN PERFORM harel_grant('harel_test_role', 'reader'); END $$;
SELECT throws_ok('DROP EXTENSION harel', '2BP01', NULL, 'a store that others use is protected');
DO $$ BEGIN PERFORM harel_protect(false), harel_grant('harel_test_role', 'none'); END $$;
SELECT lives_ok('DROP EXTENSION harel', 'and who is let out does not make it so');

SELECT * FROM finish();
