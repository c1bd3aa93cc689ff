SELECT plan(5);

CREATE TEMP TABLE sample (id text, data text);
INSERT INTO sample VALUES
('NUL', '{"status":"RUNNING","a":"\u0000"}'),
('number', '{"status":"RUNNING","a":1e999999}'),
('surrogate', '{"status":"RUNNING","a":"\ud83d"}'),
('blanks', E' {\n"status"\t: "RUNNING" } '),
('list', '["\u0000"]');
DO $$
BEGIN
    PERFORM harel_commit_cas(id, 'd', '{}', 0) FROM sample;
    PERFORM harel_publish(id, 'ev', p_now => 100) FROM sample;
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, 10, p_now => 100);
CREATE TEMP TABLE answer AS SELECT f.* FROM
(SELECT array_agg(id ORDER BY id) AS ids, array_agg(data ORDER BY id) AS datas FROM sample) s,
harel_finish(
    s.ids, (SELECT array_agg(token) FROM lease), array_fill('d'::text, ARRAY[5]), s.datas, '{1,1,1,1,1}',
    p_traces => s.datas, p_emit_commits => '{1,2,3,4,5}', p_emit_targets => '{x,x,x,x,x}', p_emit_events => s.datas,
    p_now => 101
) f;
-- On several nodes the relay moves what is sent.
DO $$ BEGIN PERFORM harel_relay_spawns(p_now => 101), harel_relay(p_now => 101) WHERE harel__is_distributed(); END $$;

SELECT is((SELECT count(*) FROM answer WHERE result = 'finished'), 5::bigint, 'all are finished');
SELECT is_empty(
    'SELECT id FROM sample WHERE harel_load(id) IS DISTINCT FROM data COLLATE "C"', 'the data is stored byte for byte'
);
SELECT is(
    ARRAY(SELECT id FROM executions WHERE status = 'RUNNING' ORDER BY id), '{NUL,blanks,number,surrogate}',
    'and its status is known'
);
SELECT is(
    ARRAY(SELECT entry FROM trace ORDER BY execution_id), ARRAY(SELECT data FROM sample ORDER BY id COLLATE "C"),
    'so is the trace'
);
SELECT is(
    ARRAY(SELECT event FROM transport_messages ORDER BY seq), ARRAY(SELECT data FROM sample ORDER BY id COLLATE "C"),
    'and so are the events'
);

SELECT * FROM finish();
