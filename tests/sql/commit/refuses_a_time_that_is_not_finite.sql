SELECT plan(5);

SELECT throws_ok(
    format(
        $$SELECT harel_commit(
            'e', 'd', '{}', 0, p_timer_actions => '{schedule}', p_timer_paths => '{a}', p_timer_fire_ats => ARRAY[%L]::double precision[]
        )$$, fire_at
    ), 'ST006', NULL, format('the time %L', fire_at)
) FROM unnest('{NaN,Infinity,-Infinity,NULL}'::double precision[]) fire_at;
SELECT is_empty('SELECT * FROM executions', 'nothing is written');

SELECT * FROM finish();
