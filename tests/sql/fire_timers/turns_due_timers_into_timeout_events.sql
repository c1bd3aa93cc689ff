SELECT plan(6);

DO $$
BEGIN
    PERFORM harel_commit(
        'e', 'd', '{"priority": 3}', 0, p_timer_actions => '{schedule,schedule}', p_timer_paths => '{a.b,c}',
        p_timer_fire_ats => '{100.25,200}'
    );
END
$$;

SELECT is(harel_fire_timers(150), 1, 'it says how many');
SELECT is(
    ARRAY(SELECT event::jsonb - 'id' FROM transport_messages),
    ARRAY['{"kind": "Timeout", "data": {"path": "a.b", "fire_at": 100.25}}'::jsonb],
    'the event tells which timer it was'
);
SELECT ok((SELECT event::jsonb ->> 'id' ~ '^[0-9a-f]{32}$' FROM transport_messages), 'under an id');
SELECT is(
    (SELECT concat_ws(' ', group_id, available_at, priority) FROM transport_groups), 'e 150 3',
    'it can be claimed at once, at the priority of the execution'
);
SELECT is(ARRAY(SELECT path FROM timers), '{c}', 'the timer is gone, and the one not due stays');
SELECT is(harel_fire_timers(150), 0, 'it fires once');

SELECT * FROM finish();
