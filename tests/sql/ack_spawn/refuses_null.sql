SELECT plan(2);

DO $$ BEGIN PERFORM harel_commit('e', 'd', '{}', 0, NULL, NULL, NULL, '{a}', '{r}', '{1}'); END $$;

SELECT throws_ok('SELECT harel_ack_spawn(NULL)', 'ST001', NULL, 'NULL names no child');
SELECT is((SELECT count(*) FROM spawns), 1::bigint, 'and nothing goes');

SELECT * FROM finish();
