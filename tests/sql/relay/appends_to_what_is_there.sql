SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{}', 0, p_emit_targets => '{x,y}', p_emit_events => '{x2,y2}');
    PERFORM harel_commit_cas('x', 'd', '{}', 0);
    PERFORM harel_commit_cas('y', 'd', '{}', 0);
    PERFORM harel_publish('x', 'x1', 3, 100);
    PERFORM harel_publish('y', 'y1', 2, 90);
    PERFORM harel_suspend('y');
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);

SELECT is(harel_relay(p_now => 101), 2, 'a group that is leased and one that is parked get their events');
SELECT is(ARRAY(SELECT event FROM transport_messages ORDER BY group_id, seq), '{x1,x2,y1,y2}', 'behind the others');
SELECT is(
    ARRAY(SELECT concat_ws(' ', group_id, available_at, priority, attempts) FROM transport_groups ORDER BY group_id),
    '{x 130 3 1,y Infinity 2 0}', 'the one stays leased and the other parked'
);
SELECT is((SELECT harel_ack('x', token, 102) FROM lease), true, 'and the lease holds');

SELECT * FROM finish();
