SELECT plan(6);

SELECT throws_ok(
    format(
        $$SELECT harel_commit('e', 'd', '{}', 0, p_timer_actions => ARRAY[%L], p_timer_paths => '{a}', p_timer_fire_ats => '{1}')$$,
        action
    ), 'ST005', NULL, format('the action %L', action)
) FROM unnest(ARRAY['', 'SCHEDULE', 'schedule ', 'disarm', repeat('x', 5000)]) action;
SELECT is_empty('SELECT * FROM executions', 'nothing is written');

SELECT * FROM finish();
