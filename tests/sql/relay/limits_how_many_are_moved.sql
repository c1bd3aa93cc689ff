SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{}', 0, p_emit_targets => '{x,y,x,y}', p_emit_events => '{x1,y1,x2,y2}');
END
$$;

SELECT is(harel_relay(0, 100), 0, 'none');
SELECT is(ARRAY(SELECT event FROM outbox ORDER BY seq), '{x1,y1,x2,y2}', 'leaves all');
SELECT is(harel_relay(3, 100), 3, 'three');
SELECT is(ARRAY(SELECT event FROM outbox ORDER BY seq), '{y2}', 'are the oldest');
SELECT is(harel_relay(NULL, 100), 1, 'NULL is no limit');

SELECT * FROM finish();
