SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{}', 0, p_timer_actions => '{schedule,schedule}', p_timer_paths => '{a,b}', p_timer_fire_ats => '{1,2}');
    PERFORM harel_commit('f', 'd', '{}', 0, p_timer_actions => '{schedule}', p_timer_paths => '{a}', p_timer_fire_ats => '{3}');
END
$$;

SELECT is(
    (SELECT committed FROM harel_commit('e', 'd', '{}', 1, p_timer_actions => '{cancel}', p_timer_paths => '{a}', p_timer_fire_ats => '{0}')),
    true, 'a commit cancels a timer'
);
SELECT is(
    ARRAY(SELECT execution_id || path FROM harel_due_timers(10)), '{eb,fa}', 'another path and another execution keep theirs'
);
SELECT is(
    (SELECT committed FROM harel_commit('e', 'd', '{}', 2, p_timer_actions => '{cancel}', p_timer_paths => '{a}', p_timer_fire_ats => '{0}')),
    true, 'to cancel one that is not armed is no mistake'
);

SELECT * FROM finish();
