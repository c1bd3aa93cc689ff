SELECT plan(1);

DO $$ BEGIN PERFORM harel_commit_cas(id, 'd', '{}', 0) FROM unnest('{b,a," ",c}'::text[]) id; END $$;

SELECT is(ARRAY(SELECT harel_ids_with_prefix('')), '{" ",a,b,c}', 'all ids');

SELECT * FROM finish();
