SELECT plan(5);

DO $$ BEGIN PERFORM harel_commit('e', 'd', '{}', 0, NULL, '{x,x,x}', '{1,2,3}'); END $$;
CREATE TEMP TABLE second AS SELECT seq FROM outbox WHERE event = '2';

SELECT is(harel_ack_outbox(seq), 1, 'an event that was pending') FROM second;
SELECT is(ARRAY(SELECT event FROM harel_pending_outbox()), '{1,3}', 'is gone, and the others are not');
SELECT is(harel_ack_outbox(seq), 0, 'to ack it again is no mistake') FROM second;
SELECT is(harel_ack_outbox(-1), 0, 'nor is a seq that never was');
SELECT is((SELECT count(*) FROM outbox), 2::bigint, 'and nothing more goes');

SELECT * FROM finish();
