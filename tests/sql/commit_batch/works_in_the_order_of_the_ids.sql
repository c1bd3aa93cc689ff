SELECT plan(1);

-- The order in which rows are locked, and new ones placed, is what keeps two batches from waiting for each other.
DO $$ BEGIN PERFORM harel_commit_batch('{c,B,é,a,Z}', '{d,d,d,d,d}', '{1,1,1,1,1}', '{0,0,0,0,0}'); END $$;

SELECT is(ARRAY(SELECT id FROM executions ORDER BY ctid), '{B,Z,a,c,é}', 'as bytes, whatever the order given');

SELECT * FROM finish();
