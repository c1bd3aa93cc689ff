SELECT plan(5);

DO $$ BEGIN PERFORM harel_commit('e', 'd', '{}', 0, NULL, '{x,x,x}', '{1,2,3}'); END $$;

SELECT is(ARRAY(SELECT event FROM harel_pending_outbox(2)), '{1,2}', 'to the oldest');
SELECT is(ARRAY(SELECT event FROM harel_pending_outbox(9)), '{1,2,3}', 'to all there are');
SELECT is(ARRAY(SELECT event FROM harel_pending_outbox(NULL)), '{1,2,3}', 'NULL to all');
SELECT is_empty('SELECT * FROM harel_pending_outbox(0)', '0 to none');
SELECT throws_ok('SELECT * FROM harel_pending_outbox(-1)', 'ST008', NULL, '-1 is refused');

SELECT * FROM finish();
