SELECT plan(10);

CREATE TEMP TABLE lease AS SELECT gen_random_uuid() AS token;

SELECT throws_ok(
    format(
        $$SELECT harel_finish(
            '{a,b}', (SELECT ARRAY[token, token] FROM lease), '{d,d}', '{1,1}', '{1,1}',
            p_emit_commits => %L, p_emit_targets => '{x,y}', p_emit_events => '{a,b}'
        )$$, positions
    ), 'ST004', NULL, 'events at ' || positions
) FROM unnest(ARRAY['{0,1}', '{1,3}', '{2,1}', '{-1,1}', '{1,NULL}', '{NULL,1}', '{{1,2}}', '[0:1]={1,2}']) positions;
SELECT throws_ok(
    $$SELECT harel_finish(
        '{a}', (SELECT ARRAY[token] FROM lease), '{d}', '{1}', '{1}',
        p_spawn_commits => '{2}', p_spawn_children => '{c}', p_spawn_root_paths => '{p}', p_spawn_contexts => '{1}'
    )$$, 'ST004', NULL, 'a child beyond the last message'
);
SELECT throws_ok(
    $$SELECT harel_finish(
        '{a}', (SELECT ARRAY[token] FROM lease), '{d}', '{1}', '{1}',
        p_timer_commits => '{0}', p_timer_actions => '{cancel}', p_timer_paths => '{t}', p_timer_fire_ats => '{0}'
    )$$, 'ST004', NULL, 'a timer before the first'
);

SELECT * FROM finish();
