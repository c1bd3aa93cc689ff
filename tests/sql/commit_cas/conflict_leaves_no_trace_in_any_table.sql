SELECT plan(7);

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
        'e', 'd', '{"status": "DONE"}', 0, 'ev1', '{x}', '{hello}', '{c}', '{p}', '{ctx}', '{schedule}', '{t}', '{5}', 'step'
    );
    UPDATE executions SET created_at = 'epoch', updated_at = 'epoch', finished_at = 'epoch';
    UPDATE processed_events SET processed_at = 'epoch';
END
$$;
CREATE TEMP TABLE before AS SELECT pg_temp.everything() AS content;

SELECT ok((SELECT content ~ 'hello.*ev1.*,t,5.*ctx.*step' FROM before), 'something is stored in all six tables');
SELECT is(harel_commit_cas('e', 'other', '{"status": "RUNNING"}', 0, 'ev2'), false, 'a first save loses');
SELECT is(pg_temp.everything(), (SELECT content FROM before), 'and changes nothing');
SELECT is(harel_commit_cas('e', 'other', '{"status": "RUNNING"}', 7, 'ev2'), false, 'another version loses');
SELECT is(pg_temp.everything(), (SELECT content FROM before), 'and changes nothing');
SELECT is(harel_commit_cas('f', 'other', '{"status": "RUNNING"}', 7, 'ev2'), false, 'an unknown execution loses');
SELECT is(pg_temp.everything(), (SELECT content FROM before), 'and changes nothing');

SELECT * FROM finish();
