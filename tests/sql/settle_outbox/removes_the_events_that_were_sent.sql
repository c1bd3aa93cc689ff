SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{}', 0, p_emit_targets => '{x,NULL,y,NULL,z}', p_emit_events => '{1,2,3,4,5}');
END
$$;

SELECT is(harel_settle_outbox(ARRAY(SELECT seq FROM harel_take_outbox(4) WHERE event <> '1')), 3, 'it says how many');
SELECT is(ARRAY(SELECT event FROM outbox ORDER BY seq), '{1,5}', 'those before and behind them stay');

SELECT * FROM finish();
