SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit('b', 'd', '{}', 0, p_emit_targets => '{x,NULL}', p_emit_events => '{1,2}');
    PERFORM harel_commit('a', 'd', '{}', 0, p_emit_targets => '{NULL,y}', p_emit_events => '{3,4}');
END
$$;

SELECT results_eq(
    'SELECT target_id, event, source_id FROM harel_take_outbox()',
    $$VALUES ('x', '1', 'b'), (NULL, '2', 'b'), (NULL, '3', 'a'), ('y', '4', 'a')$$,
    'with their target and source, broadcasts and others'
);
SELECT results_eq(
    'SELECT * FROM harel_take_outbox()', 'SELECT * FROM harel_pending_outbox()', 'as harel_pending_outbox() does'
);
SELECT is(ARRAY(SELECT event FROM harel_take_outbox()), '{1,2,3,4}', 'they stay until they are settled');

SELECT * FROM finish();
