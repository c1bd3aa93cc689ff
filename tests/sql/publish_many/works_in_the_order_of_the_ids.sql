SELECT plan(1);

-- The order in which rows are locked, and new ones placed, is what keeps two calls from waiting for each other.
DO $$ BEGIN PERFORM harel_publish_many('{c,B,é,a,Z,B}', '{1,1,1,1,1,1}'); END $$;

SELECT is(
    ARRAY(SELECT group_id FROM transport_groups ORDER BY ctid), '{B,Z,a,c,é}', 'as bytes, whatever the order given'
);

SELECT * FROM finish();
