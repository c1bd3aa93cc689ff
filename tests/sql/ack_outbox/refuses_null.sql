SELECT plan(2);

DO $$ BEGIN PERFORM harel_commit('e', 'd', '{}', 0, NULL, '{x}', '{1}'); END $$;

SELECT throws_ok('SELECT harel_ack_outbox(NULL)', 'ST001', NULL, 'NULL names no event');
SELECT is((SELECT count(*) FROM outbox), 1::bigint, 'and nothing goes');

SELECT * FROM finish();
