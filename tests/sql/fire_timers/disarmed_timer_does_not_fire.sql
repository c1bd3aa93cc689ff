SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit(
        'e', 'd', '{}', 0, p_timer_actions => '{schedule,schedule,cancel}', p_timer_paths => '{p,q,p}',
        p_timer_fire_ats => '{100,100,0}'
    );
END
$$;

SELECT is(harel_fire_timers(100), 1, 'the other does');
SELECT is(ARRAY(SELECT event::jsonb -> 'data' ->> 'path' FROM transport_messages), '{q}', 'alone');

SELECT * FROM finish();
