SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{}', 0, p_timer_actions => '{schedule,schedule}', p_timer_paths => '{a,b}', p_timer_fire_ats => '{2,1}');
    PERFORM harel_commit('f', 'd', '{}', 0, p_timer_actions => '{schedule}', p_timer_paths => '{a}', p_timer_fire_ats => '{3}');
END
$$;

SELECT results_eq(
    'SELECT * FROM harel_due_timers(10)',
    $$VALUES ('e', 'b', 1::double precision), ('e', 'a', 2::double precision), ('f', 'a', 3::double precision)$$,
    'of each execution'
);

SELECT * FROM finish();
