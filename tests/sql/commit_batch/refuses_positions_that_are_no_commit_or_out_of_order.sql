SELECT plan(11);

SELECT throws_ok(
    format(
        $$SELECT harel_commit_batch(
            '{a,b}', '{d,d}', '{1,1}', '{0,0}', p_emit_commits => %L, p_emit_targets => '{x,y}', p_emit_events => '{a,b}'
        )$$, positions
    ), 'ST004', NULL, 'events at ' || positions
) FROM unnest(ARRAY['{0,1}', '{1,3}', '{2,1}', '{-1,1}', '{1,NULL}', '{NULL,1}', '{{1,2}}', '[0:1]={1,2}']) positions;
SELECT throws_ok(
    $$SELECT harel_commit_batch(
        '{a}', '{d}', '{1}', '{0}', p_spawn_commits => '{2}', p_spawn_children => '{c}', p_spawn_root_paths => '{p}', p_spawn_contexts => '{k}'
    )$$, 'ST004', NULL, 'a spawn beyond the last commit'
);
SELECT throws_ok(
    $$SELECT harel_commit_batch(
        '{a}', '{d}', '{1}', '{0}', p_timer_commits => '{0}', p_timer_actions => '{schedule}', p_timer_paths => '{t}', p_timer_fire_ats => '{1}'
    )$$, 'ST004', NULL, 'a timer before the first'
);
SELECT is_empty('SELECT * FROM executions', 'nothing is written');

SELECT * FROM finish();
