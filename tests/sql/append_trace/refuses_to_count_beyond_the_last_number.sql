SELECT plan(4);

SELECT harel_commit_cas('e', 'd', '{}', 0);
INSERT INTO trace (execution_id, idx, entry) VALUES ('e', 2147483646, 'a');

SELECT is(harel_append_trace('e', 'b'), 2147483647, 'the last number');
SELECT throws_ok(
    $$SELECT harel_append_trace('e', 'c')$$, 'ST002', 'a trace has no entry after number 2147483647', 'none after it'
);
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 1, p_trace => 'c', p_trace_max => 1)$$,
    'ST002', 'a trace has no entry after number 2147483647', 'nor in a commit'
);
SELECT is((harel_commit('e', 'd', '{}', 1)).stored_version, 2, 'which is possible without an entry');

SELECT * FROM finish();
