SELECT plan(10);

SELECT throws_ok(
    $$SELECT harel_commit_batch('{a}', '{d}', '{1}', '{0}', p_emit_commits => '{1,1}', p_emit_targets => '{x}', p_emit_events => '{a}')$$,
    'ST004', NULL, 'more positions than events'
);
SELECT throws_ok(
    $$SELECT harel_commit_batch('{a}', '{d}', '{1}', '{0}', p_emit_targets => '{x}', p_emit_events => '{a}')$$,
    'ST004', NULL, 'no positions for an event'
);
SELECT throws_ok(
    $$SELECT harel_commit_batch('{a}', '{d}', '{1}', '{0}', p_emit_commits => '{1,1}', p_emit_targets => '{x}', p_emit_events => '{a,b}')$$,
    'ST004', NULL, 'fewer targets than events'
);
SELECT throws_ok(
    $$SELECT harel_commit_batch('{a}', '{d}', '{1}', '{0}', p_emit_commits => '{1}', p_emit_targets => '{x,y}', p_emit_events => '{a}')$$,
    'ST004', NULL, 'more targets than events'
);
SELECT throws_ok(
    $$SELECT harel_commit_batch('{a}', '{d}', '{1}', '{0}', p_emit_targets => '{x}')$$, 'ST004', NULL, 'targets without events'
);
SELECT throws_ok(
    $$SELECT harel_commit_batch(
        '{a}', '{d}', '{1}', '{0}', p_spawn_commits => '{1}', p_spawn_children => '{c}', p_spawn_root_paths => '{p,p}', p_spawn_contexts => '{k}'
    )$$, 'ST004', NULL, 'more root paths than children'
);
SELECT throws_ok(
    $$SELECT harel_commit_batch(
        '{a}', '{d}', '{1}', '{0}', p_spawn_commits => '{1}', p_spawn_children => '{c}', p_spawn_root_paths => '{p}'
    )$$, 'ST004', NULL, 'children without contexts'
);
SELECT throws_ok(
    $$SELECT harel_commit_batch(
        '{a}', '{d}', '{1}', '{0}', p_timer_commits => '{1}', p_timer_actions => '{schedule}', p_timer_paths => '{t,u}', p_timer_fire_ats => '{1,2}'
    )$$, 'ST004', NULL, 'more paths and times than timer actions'
);
SELECT throws_ok(
    $$SELECT harel_commit_batch(
        '{a}', '{d}', '{1}', '{0}', p_timer_commits => '{1}', p_timer_actions => '{schedule}', p_timer_paths => '{t}', p_timer_fire_ats => '{}'
    )$$, 'ST004', NULL, 'a timer without a time'
);
SELECT is_empty('SELECT * FROM executions', 'nothing is written');

SELECT * FROM finish();
