SELECT plan(1);

CREATE ROLE "Harel's ""test"" role";
DO $$ BEGIN PERFORM harel_grant('Harel''s "test" role', 'worker'); END $$;
SET LOCAL ROLE "Harel's ""test"" role";

SELECT is(harel_commit_cas('e', 'd', '{}', 0), true, 'as it is, without quotes of its own');

SELECT * FROM finish();
