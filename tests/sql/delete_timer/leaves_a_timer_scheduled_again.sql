SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{}', 0, p_timer_actions => '{schedule}', p_timer_paths => '{a}', p_timer_fire_ats => '{1}');
END
$$;
-- A sweep reads what is due; before it has settled the timer, a commit schedules it again.
CREATE TEMP TABLE swept AS SELECT * FROM harel_due_timers(5);
DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{}', 1, p_timer_actions => '{schedule}', p_timer_paths => '{a}', p_timer_fire_ats => '{2}');
END
$$;

SELECT is(harel_delete_timer(execution_id, path, fire_at), 0, 'the time read before no longer matches') FROM swept;
SELECT is(ARRAY(SELECT fire_at FROM timers), '{2}'::double precision[], 'the timer stays with its new time');
SELECT is(harel_delete_timer('e', 'a', 2), 1, 'which disarms it');

SELECT * FROM finish();
