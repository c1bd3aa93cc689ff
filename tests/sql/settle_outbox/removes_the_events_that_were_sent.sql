SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{}', 0, p_emit_targets => '{x,NULL,y,NULL}', p_emit_events => '{1,2,3,4}');
END
$$;

SELECT is(harel_settle_outbox(ARRAY(SELECT seq FROM harel_take_outbox(3))), 3, 'it says how many');
SELECT is(ARRAY(SELECT event FROM outbox), '{4}', 'only the others stay');

SELECT * FROM finish();
