SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit(
        'e', 'd', '{}', 0, p_timer_actions => '{schedule}', p_timer_paths => '{p}', p_timer_fire_ats => '{100}'
    );
    PERFORM harel_fire_timers(100);
    PERFORM harel_commit(
        'e', 'd', '{}', 1, p_timer_actions => '{schedule}', p_timer_paths => '{p}', p_timer_fire_ats => '{200}'
    );
END
$$;

SELECT is(harel_fire_timers(199), 0, 'not before its new time');
SELECT is(harel_fire_timers(200), 1, 'but then');
SELECT is((SELECT count(DISTINCT event::jsonb ->> 'id') FROM transport_messages), 2::bigint, 'as another event');

SELECT * FROM finish();
