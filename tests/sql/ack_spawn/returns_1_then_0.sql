SELECT plan(5);

DO $$ BEGIN PERFORM harel_commit('e', 'd', '{}', 0, NULL, NULL, NULL, '{a,b,c}', '{r,r,r}', '{1,2,3}'); END $$;
CREATE TEMP TABLE second AS SELECT seq FROM spawns WHERE child_id = 'b';

SELECT is(harel_ack_spawn(seq), 1, 'a child that was pending') FROM second;
SELECT is(ARRAY(SELECT child_id FROM harel_pending_spawns()), '{a,c}', 'is gone, and the others are not');
SELECT is(harel_ack_spawn(seq), 0, 'to ack it again is no mistake') FROM second;
SELECT is(harel_ack_spawn(-1), 0, 'nor is a seq that never was');
SELECT is((SELECT count(*) FROM spawns), 2::bigint, 'and nothing more goes');

SELECT * FROM finish();
