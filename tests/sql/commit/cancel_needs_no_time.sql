SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{}', 0, p_timer_actions => '{schedule,schedule,schedule}', p_timer_paths => '{a,b,c}', p_timer_fire_ats => '{1,2,3}');
END
$$;

SELECT lives_ok(
    $$SELECT harel_commit(
        'e', 'd', '{}', 1, p_timer_actions => '{cancel,cancel,cancel}', p_timer_paths => '{a,b,c}',
        p_timer_fire_ats => ARRAY[NULL, 'NaN', 'Infinity']::double precision[]
    )$$, 'NULL, NaN and Infinity are as good as any'
);
SELECT is_empty('SELECT * FROM timers', 'all are disarmed');

SELECT * FROM finish();
