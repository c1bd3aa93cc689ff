SELECT plan(11);

SELECT throws_ok($$SELECT harel_commit('e', 'd', '{}', 0, NULL, '{x}', '{a,b}')$$, 'ST004', NULL, 'too few targets');
SELECT throws_ok($$SELECT harel_commit('e', 'd', '{}', 0, NULL, '{x,y}', '{a}')$$, 'ST004', NULL, 'too many targets');
SELECT throws_ok($$SELECT harel_commit('e', 'd', '{}', 0, NULL, NULL, '{a}')$$, 'ST004', NULL, 'no targets');
SELECT throws_ok($$SELECT harel_commit('e', 'd', '{}', 0, NULL, '{x}', NULL)$$, 'ST004', NULL, 'no events');
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, NULL, NULL, NULL, '{c}', '{p,p}', '{k}')$$, 'ST004', NULL, 'too many root paths'
);
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, NULL, NULL, NULL, '{c}', '{p}', '{}')$$, 'ST004', NULL, 'no contexts'
);
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, NULL, NULL, NULL, NULL, '{p}', '{k}')$$, 'ST004', NULL, 'no children'
);
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, p_timer_actions => '{cancel}', p_timer_paths => '{a}')$$, 'ST004', NULL, 'no times'
);
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, p_timer_actions => '{cancel}', p_timer_paths => '{a,b}', p_timer_fire_ats => '{1}')$$,
    'ST004', NULL, 'too many paths'
);
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, p_timer_paths => '{a}', p_timer_fire_ats => '{1}')$$, 'ST004', NULL, 'no actions'
);
SELECT is_empty('SELECT * FROM executions', 'nothing is written');

SELECT * FROM finish();
