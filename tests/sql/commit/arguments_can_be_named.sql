SELECT plan(1);

SELECT results_eq(
    $$SELECT committed, stored_version, cardinality(outbox_seqs) FROM harel_commit(
        p_id => 'e', p_defn => 'd', p_data => '{}', p_old => 0, p_event => 'ev',
        p_emit_targets => '{x}', p_emit_events => '{hello}',
        p_spawn_children => '{c}', p_spawn_root_paths => '{p}', p_spawn_contexts => '{ctx}',
        p_timer_actions => '{schedule}', p_timer_paths => '{a}', p_timer_fire_ats => '{1}',
        p_trace => 'step', p_trace_max => 5
    )$$, 'VALUES (true, 1, 1)', 'each argument has its name in the contract'
);

SELECT * FROM finish();
