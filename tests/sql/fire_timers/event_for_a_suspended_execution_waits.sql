SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit(
        'e', 'd', '{}', 0, p_timer_actions => '{schedule}', p_timer_paths => '{p}', p_timer_fire_ats => '{100}'
    );
    PERFORM harel_publish('e', '{"kind": "x"}', p_now => 50);
    PERFORM harel_suspend('e');
END
$$;

SELECT is(harel_fire_timers(100), 1, 'the timer fires');
SELECT is_empty($$SELECT * FROM harel_next('w', 30, p_now => 1e15)$$, 'nothing is handed out');
SELECT is(harel_resume('e'), true, 'until it is resumed');
SELECT is(
    ARRAY(SELECT event::jsonb ->> 'kind' FROM transport_messages ORDER BY seq), '{x,Timeout}',
    'the event waits for its turn'
);

SELECT * FROM finish();
