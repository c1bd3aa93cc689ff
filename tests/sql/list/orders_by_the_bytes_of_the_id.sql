SELECT plan(4);

CREATE TEMP TABLE sample AS SELECT unnest('{a,B,é,Z,z,A,10,9,_,"a b",ab,𝄞,ﬀ}'::text[]) AS id;
DO $$ BEGIN PERFORM harel_commit_cas(id, 'd', '{"status": "S"}', 0) FROM sample; END $$;

SELECT is(ARRAY(SELECT id FROM harel_list()), '{10,9,A,B,Z,_,a,"a b",ab,z,é,ﬀ,𝄞}', 'without a filter');
SELECT is(ARRAY(SELECT id FROM harel_list('d')), '{10,9,A,B,Z,_,a,"a b",ab,z,é,ﬀ,𝄞}', 'with a definition');
SELECT is(ARRAY(SELECT id FROM harel_list(NULL, '{S}')), '{10,9,A,B,Z,_,a,"a b",ab,z,é,ﬀ,𝄞}', 'with a status');
SELECT is(ARRAY(SELECT id FROM harel_list(NULL, NULL, true)), '{10,9,A,B,Z,_,a,"a b",ab,z,é,ﬀ,𝄞}', 'with roots only');

SELECT * FROM finish();
