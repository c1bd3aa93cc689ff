SELECT plan(6);

SELECT throws_ok(format('SELECT harel_finish(%s)', args), 'ST004', NULL, name) FROM (
    VALUES
    ('an event to mark', $$'{}', '{}', '{}', '{}', '{}', '{ev}'$$),
    ('an event to mark, beside NULL', $$NULL, NULL, NULL, NULL, NULL, '{ev}'$$),
    ('a trace entry', $$'{}', '{}', '{}', '{}', '{}', p_traces => '{s}'$$),
    (
        'an event to send',
        $$'{}', '{}', '{}', '{}', '{}', p_emit_commits => '{1}', p_emit_targets => '{x}', p_emit_events => '{a}'$$
    ),
    (
        'a child',
        $$'{}', '{}', '{}', '{}',
        '{}', p_spawn_commits => '{1}', p_spawn_children => '{c}', p_spawn_root_paths => '{r}',
        p_spawn_contexts => '{1}'$$
    ),
    (
        'a timer',
        $$'{}', '{}', '{}', '{}', '{}', p_timer_commits => '{1}', p_timer_actions => '{cancel}', p_timer_paths => '{t}',
        p_timer_fire_ats => '{0}'$$
    )
) AS v (name, args);

SELECT * FROM finish();
