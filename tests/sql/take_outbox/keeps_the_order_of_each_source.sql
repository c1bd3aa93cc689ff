SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit('b', 'd', '{}', 0, p_emit_targets => '{x,NULL}', p_emit_events => '{1,2}');
    PERFORM harel_commit('b', 'd', '{}', 1, p_emit_targets => '{NULL,y}', p_emit_events => '{3,4}');
    PERFORM harel_commit('a', 'd', '{}', 0, p_emit_targets => '{y}', p_emit_events => '{5}');
END
$$;

SELECT is(
    ARRAY(SELECT concat_ws(' ', target_id, event) FROM harel_take_outbox() WHERE source_id = 'b'), '{"x 1",2,3,"y 4"}',
    'those of one source as it emitted them'
);
SELECT is(
    ARRAY(SELECT event FROM harel_pending_outbox() WHERE source_id = 'b'), '{1,2,3,4}', 'harel_pending_outbox() as well'
);

SELECT * FROM finish();
