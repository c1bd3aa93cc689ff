SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_commit(
        'e', 'd', '{}', 0, p_emit_targets => '{x,y,x}', p_emit_events => ARRAY['x1', E' {"y":\t"\\u0000 é"} ', 'x2']
    );
END
$$;

SELECT is(harel_relay(p_now => 100), 3, 'it says how many');
SELECT is(
    ARRAY(SELECT group_id || ': ' || event FROM transport_messages ORDER BY group_id, seq),
    ARRAY['x: x1', 'x: x2', E'y:  {"y":\t"\\u0000 é"} '], 'each stands in the group of its target, byte for byte'
);
SELECT is(
    ARRAY(SELECT concat_ws(' ', group_id, available_at, attempts) FROM transport_groups ORDER BY group_id),
    '{x 100 0,y 100 0}',
    'and can be claimed at once'
);
SELECT is_empty('SELECT * FROM outbox', 'the outbox is empty');
SELECT is(harel_relay(p_now => 100), 0, 'and there is nothing left to move');

SELECT * FROM finish();
