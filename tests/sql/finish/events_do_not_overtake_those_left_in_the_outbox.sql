SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{}', 0, p_emit_targets => '{x,NULL}', p_emit_events => '{e to x 1,e to all}');
    PERFORM harel_commit('other', 'd', '{}', 0, p_emit_targets => '{y}', p_emit_events => '{other to y}');
    PERFORM harel_publish('e', 'ev', p_now => 100);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);
CREATE TEMP TABLE answer AS SELECT * FROM harel_finish(
    '{e}', (SELECT array_agg(token) FROM lease), '{d}', '{1}', '{1}',
    p_emit_commits => '{1,1,1}', p_emit_targets => '{x,y,x}', p_emit_events => '{e to x 2,e to y,e to x 3}',
    p_now => 101
);

SELECT is(
    ARRAY(SELECT event FROM outbox ORDER BY seq), '{e to x 1,e to all,other to y,e to x 2,e to x 3}',
    'those for a target for which the same source has others there wait behind them'
);
SELECT is(
    (SELECT outbox_seqs FROM answer), ARRAY(SELECT seq FROM outbox WHERE event ~ 'x [23]' ORDER BY seq),
    'with the seqs returned'
);
SELECT is(
    (SELECT array_agg(event) FROM transport_messages), '{e to y}', 'what another has left there holds up nothing'
);
SELECT is(harel_relay(p_now => 102), 4, 'the relay moves them');
SELECT is(
    ARRAY(SELECT event FROM transport_messages WHERE group_id = 'x' ORDER BY seq), '{e to x 1,e to x 2,e to x 3}',
    'and they arrive in the order emitted'
);

SELECT * FROM finish();
