SELECT plan(6);

CREATE FUNCTION pg_temp.everything() RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(
        ' / ',
        (SELECT array_agg(t::text ORDER BY t.id)::text FROM executions t),
        (SELECT array_agg(t::text ORDER BY t.seq)::text FROM outbox t),
        (SELECT array_agg(t::text ORDER BY t.execution_id, t.event_id)::text FROM processed_events t),
        (SELECT array_agg(t::text ORDER BY t.execution_id, t.path)::text FROM timers t),
        (SELECT array_agg(t::text ORDER BY t.seq)::text FROM spawns t),
        (SELECT array_agg(t::text ORDER BY t.execution_id, t.idx)::text FROM trace t),
        (SELECT array_agg(t::text ORDER BY t.group_id)::text FROM transport_groups t),
        (SELECT array_agg(t::text ORDER BY t.group_id, t.seq)::text FROM transport_messages t)
    )
$$;
DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"n": 1}', 0);
    PERFORM harel_publish('e', 'ev', p_now => 100);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);
DO $$ BEGIN PERFORM harel_commit_cas('e', 'd', '{"n": 2}', 1); END $$;
CREATE TEMP TABLE before AS SELECT pg_temp.everything() AS content;
PREPARE step AS SELECT f.result, f.stored_version FROM lease l, harel_finish(
    '{e}', ARRAY[l.token], '{d}', '{3}', ARRAY[$1::bigint], '{id}', '{1,1}', '{x,NULL}', '{to x,to all}', '{1}', '{c}',
    '{r}',
    '{1}', '{1}', '{schedule}', '{t}', '{5}', '{step}', p_now => 101
) f;

SELECT results_eq('EXECUTE step(1)', $$VALUES ('conflict', 2)$$, 'the version has moved, and is told');
SELECT is(pg_temp.everything(), (SELECT content FROM before), 'nothing is written');
SELECT results_eq('EXECUTE step(7)', $$VALUES ('conflict', 2)$$, 'so with a version not reached yet');
SELECT results_eq('EXECUTE step(0)', $$VALUES ('conflict', 2)$$, 'and with a first save');
SELECT is(pg_temp.everything(), (SELECT content FROM before), 'nothing is written');
SELECT results_eq(
    'EXECUTE step(2)', $$VALUES ('finished', 3)$$, 'the lease still holds for a step from the version found'
);

SELECT * FROM finish();
