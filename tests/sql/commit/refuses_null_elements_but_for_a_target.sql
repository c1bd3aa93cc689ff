SELECT plan(10);

SELECT throws_ok($$SELECT harel_commit('e', 'd', '{}', 0, NULL, '{x}', '{NULL}')$$, 'ST004', NULL, 'an event');
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, NULL, NULL, NULL, '{c}', '{NULL}', '{k}')$$, 'ST004', NULL, 'a root path'
);
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, NULL, NULL, NULL, '{c}', '{p}', '{NULL}')$$, 'ST004', NULL, 'a context'
);
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, NULL, NULL, NULL, '{NULL}', '{p}', '{k}')$$, 'ST001', NULL, 'a child'
);
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, p_timer_actions => '{cancel}', p_timer_paths => '{NULL}', p_timer_fire_ats => '{1}')$$,
    'ST004', NULL, 'a timer path'
);
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, p_timer_actions => '{NULL}', p_timer_paths => '{a}', p_timer_fire_ats => '{1}')$$,
    'ST005', NULL, 'a timer action'
);
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, p_timer_actions => '{schedule}', p_timer_paths => '{a}', p_timer_fire_ats => '{NULL}')$$,
    'ST006', NULL, 'a time'
);
SELECT is_empty('SELECT * FROM executions', 'nothing is written');
SELECT is(
    (SELECT committed FROM harel_commit('e', 'd', '{}', 0, NULL, '{NULL}', '{a}')), true, 'a target may be NULL'
);
SELECT is(ARRAY(SELECT target_id FROM outbox), ARRAY[NULL::text], 'and is a broadcast');

SELECT * FROM finish();
