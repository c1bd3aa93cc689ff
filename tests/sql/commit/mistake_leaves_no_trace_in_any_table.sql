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
DO $$
BEGIN
    PERFORM harel_commit(
        'e', 'd', '{"status": "RUNNING"}', 0, 'ev1', '{x}', '{hello}', '{c}', '{p}', '{ctx}', '{schedule}', '{t}', '{5}', 'step'
    );
    UPDATE executions SET updated_at = 'epoch';
END
$$;
CREATE TEMP TABLE before AS SELECT pg_temp.everything() AS content;

SELECT throws_ok(
    $$SELECT harel_commit('e', 'd2', '{"n": 2}', 1, 'ev2', '{y,""}', '{a,b}', '{c2}', '{p}', '{k}')$$, 'ST001', NULL,
    'a mistake in the second event raises'
);
SELECT is(pg_temp.everything(), (SELECT content FROM before), 'and leaves nothing of the first');
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd2', '{"n": 2}', 1, 'ev2', '{y}', '{a}', '{c2,""}', '{p,p}', '{k,k}')$$, 'ST001', NULL,
    'a mistake in the second spawn raises'
);
SELECT is(pg_temp.everything(), (SELECT content FROM before), 'and leaves nothing of what came before');
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd2', '{"n": 2}', 1, 'ev2', '{y}', '{a}', '{c2}', '{p}', '{k}', '{cancel,start}', '{t,u}', '{0,1}')$$,
    'ST005', NULL, 'a mistake in the second timer raises'
);
SELECT is(pg_temp.everything(), (SELECT content FROM before), 'and leaves nothing of what came before');
SELECT throws_ok(
    $$SELECT harel_commit(
        'e', 'd2', '{"n": 2}', 1, 'ev2', '{y}', '{a}', '{c2}', '{p}', '{k}', '{schedule}', '{t}', '{9}', 'step 2', -1
    )$$, 'ST002', NULL, 'a mistake in the trace cap raises'
);
SELECT is(pg_temp.everything(), (SELECT content FROM before), 'and leaves nothing of what came before');
SELECT throws_ok(
    $$SELECT harel_commit('new', 'd2', '{"n": 2}', 0, 'ev2', '{y}', '{a}', '{c2}', '{p}', '{k}', '{schedule}', '{t}', '{NaN}')$$,
    'ST006', NULL, 'a mistake in a first save raises'
);
SELECT is(pg_temp.everything(), (SELECT content FROM before), 'and leaves nothing of it');
SELECT is((SELECT committed FROM harel_commit('e', 'd', '{}', 1)), true, 'the next commit works');

SELECT * FROM finish();
