SELECT plan(6);

SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, NULL, '[0:1]={x,y}', '[0:1]={a,b}')$$, 'ST004', NULL, 'of events'
);
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, NULL, '{x,y}', '[0:1]={a,b}')$$, 'ST004', NULL, 'of events beside plain targets'
);
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, NULL, '[2:3]={x,y}', '{a,b}')$$, 'ST004', NULL, 'of targets beside plain events'
);
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, NULL, NULL, NULL, '[2:2]={c}', '[2:2]={p}', '[2:2]={k}')$$, 'ST004', NULL, 'of spawns'
);
SELECT throws_ok(
    $$SELECT harel_commit(
        'e', 'd', '{}', 0,
        p_timer_actions => '[-1:-1]={cancel}', p_timer_paths => '[-1:-1]={a}', p_timer_fire_ats => '[-1:-1]={1}'
    )$$, 'ST004', NULL, 'of timers'
);
SELECT is_empty('SELECT * FROM executions', 'nothing is written');

SELECT * FROM finish();
