SELECT plan(7);

SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, NULL, '{{x,y}}', '{{a,b}}')$$, 'ST004', NULL, 'of events'
);
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, NULL, '{x,y}', '{{a,b}}')$$, 'ST004', NULL, 'of events beside plain targets'
);
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, NULL, '{{x,y}}', '{a,b}')$$, 'ST004', NULL, 'of targets beside plain events'
);
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, NULL, NULL, NULL, '{{c}}', '{{p}}', '{{k}}')$$, 'ST004', NULL, 'of spawns'
);
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, NULL, NULL, NULL, '{c}', '{{p}}', '{k}')$$, 'ST004', NULL, 'of root paths'
);
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, p_timer_actions => '{{cancel}}', p_timer_paths => '{{a}}', p_timer_fire_ats => '{{1}}')$$,
    'ST004', NULL, 'of timers'
);
SELECT is_empty('SELECT * FROM executions', 'nothing is written');

SELECT * FROM finish();
