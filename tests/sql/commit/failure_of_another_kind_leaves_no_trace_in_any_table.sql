SELECT plan(2);

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
    PERFORM harel_commit_cas('e', 'd', '{"n": 1}', 0);
    PERFORM harel_append_trace('e', 'first');
END
$$;
DO $$ BEGIN ALTER TABLE trace ADD CONSTRAINT full_disk CHECK (entry <> 'second'); END $$;
CREATE TEMP TABLE before AS SELECT pg_temp.everything() AS content;

SELECT throws_ok(
    $$SELECT harel_commit(
        'e', 'd2', '{"n": 2}', 1, 'ev', '{y}', '{a}', '{c}', '{p}', '{k}', '{schedule}', '{t}', '{9}', 'second'
    )$$, '23514', NULL, 'a row that cannot be written raises what PostgreSQL raises'
);
SELECT is(pg_temp.everything(), (SELECT content FROM before), 'and nothing of the commit stays');

SELECT * FROM finish();
