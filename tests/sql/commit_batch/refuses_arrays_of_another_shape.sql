SELECT plan(7);

SELECT throws_ok($$SELECT harel_commit_batch('{{a,b}}', '{{d,d}}', '{{1,1}}', '{{0,0}}')$$, 'ST004', NULL, 'two dimensions');
SELECT throws_ok(
    $$SELECT harel_commit_batch('[0:1]={a,b}', '[0:1]={d,d}', '[0:1]={1,1}', '[0:1]={0,0}')$$, 'ST004', NULL, 'counted from 0'
);
SELECT throws_ok($$SELECT harel_commit_batch('{a,b}', '{{d,d}}', '{1,1}', '{0,0}')$$, 'ST004', NULL, 'two dimensions beside one');
SELECT throws_ok(
    $$SELECT harel_commit_batch('{a,b}', '{d,d}', '{1,1}', '{0,0}', '[0:1]={ev,ev}')$$, 'ST004', NULL, 'events counted from 0'
);
SELECT throws_ok(
    $$SELECT harel_commit_batch(
        '{a}', '{d}', '{1}', '{0}', p_emit_commits => '{1,1}', p_emit_targets => '{{x,y}}', p_emit_events => '{a,b}'
    )$$, 'ST004', NULL, 'targets of two dimensions'
);
SELECT throws_ok(
    $$SELECT harel_commit_batch(
        '{a}', '{d}', '{1}', '{0}', p_emit_commits => '{1,1}', p_emit_targets => '[0:1]={x,y}', p_emit_events => '{a,b}'
    )$$, 'ST004', NULL, 'targets counted from 0'
);
SELECT is_empty('SELECT * FROM executions', 'nothing is written');

SELECT * FROM finish();
