SELECT plan(6);

CREATE TEMP TABLE before AS SELECT gen_random_uuid() AS token;

SELECT throws_ok(
    $$SELECT harel_finish('{{a,b}}', ARRAY[ARRAY[token, token]], '{{d,d}}', '{{1,1}}', '{{1,1}}') FROM before$$,
    'ST004', NULL,
    'two dimensions'
);
SELECT throws_ok(
    $$SELECT harel_finish(
        '[0:0]={a}', ('[0:0]={' || token || '}')::uuid[], '[0:0]={d}', '[0:0]={1}', '[0:0]={1}'
    ) FROM before$$, 'ST004', NULL, 'counted from 0'
);
SELECT throws_ok(
    $$SELECT harel_finish('{a}', ARRAY[token], '{{d}}', '{1}', '{1}') FROM before$$, 'ST004', NULL,
    'two dimensions beside one'
);
SELECT throws_ok(
    $$SELECT harel_finish('{a}', ARRAY[token], '{d}', '{1}', '{1}', '[0:0]={ev}') FROM before$$, 'ST004', NULL,
    'events counted from 0'
);
SELECT throws_ok(
    $$SELECT harel_finish(
        '{a}', ARRAY[token], '{d}', '{1}', '{1}',
        p_emit_commits => '{1,1}', p_emit_targets => '{{x,y}}', p_emit_events => '{a,b}'
    ) FROM before$$, 'ST004', NULL, 'targets of two dimensions'
);
SELECT throws_ok(
    $$SELECT harel_finish(
        '{a}', ARRAY[token], '{d}', '{1}', '{1}',
        p_emit_commits => '{1,1}', p_emit_targets => '[0:1]={x,y}', p_emit_events => '{a,b}'
    ) FROM before$$, 'ST004', NULL, 'targets counted from 0'
);

SELECT * FROM finish();
