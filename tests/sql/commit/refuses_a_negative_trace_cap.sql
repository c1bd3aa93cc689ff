SELECT plan(2);

SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, p_trace => 'step', p_trace_max => -1)$$, 'ST002', NULL, 'a cap of -1'
);
SELECT is_empty('SELECT * FROM executions', 'nothing is written');

SELECT * FROM finish();
