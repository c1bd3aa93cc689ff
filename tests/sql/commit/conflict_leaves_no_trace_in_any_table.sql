SELECT plan(3);

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
CREATE TEMP TABLE attempt (id text, version bigint);
INSERT INTO attempt VALUES ('e', 0), ('e', 7), ('e', 4294967297), ('unknown', 7);
CREATE TEMP TABLE answer AS
SELECT c.* FROM attempt a, LATERAL harel_commit(
    a.id, 'other', '{"status": "RUNNING"}', a.version, 'ev2', '{y}', '{bye}', '{c2}', '{p2}', '{ctx2}',
    '{schedule,cancel,schedule}', '{t2,t,t}', '{7,0,8}', 'step 2', 1
) c;

SELECT ok((SELECT content ~ 'hello.*ev1.*,t,5.*ctx.*step' FROM before), 'something is stored in all six tables');
SELECT is(ARRAY(SELECT committed FROM answer), '{f,f,f,f}', 'four commits lose');
SELECT is(pg_temp.everything(), (SELECT content FROM before), 'and change nothing');

SELECT * FROM finish();
