SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit(
        'e', 'd', '{}', 0, p_emit_targets => '{NULL,x,NULL}', p_emit_events => '{all 1,x1,all 2}'
    );
END
$$;

SELECT is(harel_relay(1, 100), 1, 'they do not count to the limit');
SELECT is(ARRAY(SELECT event FROM transport_messages), '{x1}', 'what is for one is moved');
SELECT is(
    ARRAY(SELECT event FROM harel_pending_outbox()), '{all 1,all 2}', 'what is for all waits for whoever sends it'
);
SELECT is(harel_relay(p_now => 100), 0, 'and is not looked at again');

SELECT * FROM finish();
