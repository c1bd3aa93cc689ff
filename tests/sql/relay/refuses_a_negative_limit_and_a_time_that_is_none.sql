SELECT plan(4);

DO $$ BEGIN PERFORM harel_commit('e', 'd', '{}', 0, p_emit_targets => '{x}', p_emit_events => '{a}'); END $$;

SELECT throws_ok('SELECT harel_relay(-1)', 'ST008', NULL, 'a negative limit');
SELECT throws_ok($$SELECT harel_relay(p_now => 'NaN')$$, 'ST006', NULL, 'NaN');
SELECT throws_ok($$SELECT harel_relay(p_now => 'Infinity')$$, 'ST006', NULL, 'Infinity');
SELECT is((SELECT count(*) FROM outbox), 1::bigint, 'the event stays');

SELECT * FROM finish();
