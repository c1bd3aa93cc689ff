SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{}', 0, p_emit_targets => '{x}', p_emit_events => '{a}');
    PERFORM harel_relay();
END
$$;

SELECT is(
    (SELECT abs(available_at - extract(epoch FROM clock_timestamp())) < 60 FROM transport_groups), true,
    'the message can be claimed from now on'
);

SELECT * FROM finish();
