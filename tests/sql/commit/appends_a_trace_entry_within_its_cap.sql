SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{}', 0, p_trace => 's0', p_trace_max => 2);
    PERFORM harel_commit('e', 'd', '{}', 1, p_trace => 's1', p_trace_max => 2);
    PERFORM harel_commit('e', 'd', '{}', 2, p_trace_max => 2);
    PERFORM harel_commit('e', 'd', '{}', 3, p_trace => 's2', p_trace_max => 2);
END
$$;

SELECT results_eq(
    $$SELECT * FROM harel_read_trace('e')$$, $$VALUES (1, 's1'), (2, 's2')$$,
    'the last two stay, and a commit without an entry adds none'
);

SELECT * FROM finish();
