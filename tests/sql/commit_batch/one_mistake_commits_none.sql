SELECT plan(11);

CREATE FUNCTION pg_temp.everything() RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(
        ' / ',
        (SELECT array_agg(t::text ORDER BY t.id)::text FROM executions t),
        (SELECT array_agg(t::text ORDER BY t.seq)::text FROM outbox t),
        (SELECT array_agg(t::text ORDER BY t.execution_id, t.event_id)::text FROM processed_events t),
        (SELECT array_agg(t::text ORDER BY t.execution_id, t.path)::text FROM timers t),
        (SELECT array_agg(t::text ORDER BY t.seq)::text FROM spawns t),
        (SELECT array_agg(t::text ORDER BY t.execution_id, t.idx)::text FROM trace t)
    )
$$;
DO $$ BEGIN PERFORM harel_commit_cas('a', 'd', '{"n": 1}', 0); END $$;
CREATE TEMP TABLE before AS SELECT pg_temp.everything() AS content;

SELECT throws_ok(
    $$SELECT harel_commit_batch('{a,b}', '{d,d}', '{1,x}', '{1,0}', '{ev,ev}')$$, 'ST003', NULL, 'data that is not JSON'
);
SELECT throws_ok($$SELECT harel_commit_batch('{a,NULL}', '{d,d}', '{1,1}', '{1,0}')$$, 'ST001', NULL, 'a NULL id');
SELECT throws_ok($$SELECT harel_commit_batch('{a,""}', '{d,d}', '{1,1}', '{1,0}')$$, 'ST001', NULL, 'an empty id');
SELECT throws_ok($$SELECT harel_commit_batch('{a,b}', '{d,NULL}', '{1,1}', '{1,0}')$$, 'ST001', NULL, 'a NULL definition');
SELECT throws_ok($$SELECT harel_commit_batch('{a,b}', '{d,d}', '{1,NULL}', '{1,0}')$$, 'ST003', NULL, 'NULL data');
SELECT throws_ok($$SELECT harel_commit_batch('{a,b}', '{d,d}', '{1,1}', '{1,NULL}')$$, 'ST002', NULL, 'a NULL version');
SELECT throws_ok($$SELECT harel_commit_batch('{a,b}', '{d,d}', '{1,1}', '{1,-1}')$$, 'ST002', NULL, 'a negative version');
SELECT throws_ok(
    $$SELECT harel_commit_batch(
        '{a,b}', '{d,d}', '{1,1}', '{1,0}', p_timer_commits => '{2}', p_timer_actions => '{start}', p_timer_paths => '{t}',
        p_timer_fire_ats => '{1}'
    )$$, 'ST005', NULL, 'an unknown timer action'
);
SELECT throws_ok(
    $$SELECT harel_commit_batch(
        '{a,b}', '{d,d}', '{1,1}', '{1,0}', p_timer_commits => '{2}', p_timer_actions => '{schedule}', p_timer_paths => '{t}',
        p_timer_fire_ats => '{NaN}'
    )$$, 'ST006', NULL, 'a time that is not finite'
);
SELECT throws_ok(
    $$SELECT harel_commit_batch('{a,b}', '{d,d}', '{1,1}', '{1,0}', p_traces => '{s,s}', p_trace_max => -1)$$, 'ST002', NULL,
    'a negative trace cap'
);
SELECT is(pg_temp.everything(), (SELECT content FROM before), 'nothing of any batch stays');

SELECT * FROM finish();
