SELECT plan(5);

DO $$ BEGIN PERFORM harel_commit('e', 'd', '{}', 0, NULL, NULL, NULL, '{a,b,c}', '{r,r,r}', '{1,2,3}'); END $$;

SELECT is(ARRAY(SELECT child_id FROM harel_pending_spawns(2)), '{a,b}', 'to the oldest');
SELECT is(ARRAY(SELECT child_id FROM harel_pending_spawns(9)), '{a,b,c}', 'to all there are');
SELECT is(ARRAY(SELECT child_id FROM harel_pending_spawns(NULL)), '{a,b,c}', 'NULL to all');
SELECT is_empty('SELECT * FROM harel_pending_spawns(0)', '0 to none');
SELECT throws_ok('SELECT * FROM harel_pending_spawns(-1)', 'ST008', NULL, '-1 is refused');

SELECT * FROM finish();
