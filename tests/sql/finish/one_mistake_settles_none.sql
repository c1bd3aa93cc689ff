SELECT plan(34);

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
    PERFORM harel_commit_cas(e, 'd', '{}', 0) FROM unnest('{a,b}'::text[]) e;
    PERFORM harel_publish(e, 'ev', p_now => 100) FROM unnest('{a,b}'::text[]) e;
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, 10, p_now => 100);
CREATE TEMP TABLE before AS SELECT pg_temp.everything() AS content;
-- The arguments that a good call has for two messages, each with an event, a broadcast, a child, a timer and a trace.
CREATE TEMP TABLE sample (place serial, name text, code text, change jsonb);
INSERT INTO sample (name, code, change) VALUES
('a NULL group', 'ST001', '{"ids": ["a", null]}'),
('a NULL token', 'ST001', '{"tokens": [null]}'),
('a NULL definition', 'ST001', '{"defns": ["d", null]}'),
('an empty definition', 'ST001', '{"defns": ["d", ""]}'),
('a definition that is too long', 'ST001', jsonb_build_object('defns', ARRAY['d', repeat('x', 1001)])),
('data that is not JSON', 'ST003', '{"datas": ["1", "x"]}'),
('empty data', 'ST003', '{"datas": ["1", ""]}'),
('data with NaN', 'ST003', '{"datas": ["1", "{\"a\": NaN}"]}'),
('a NULL version', 'ST002', '{"olds": [1, null]}'),
('a negative version', 'ST002', '{"olds": [1, -1]}'),
('a version with none after it', 'ST002', '{"olds": [1, 2147483647]}'),
('an event id that is too long', 'ST001', jsonb_build_object('events', ARRAY['x', repeat('x', 1001)])),
('an empty target', 'ST001', '{"targets": ["x", null, "", null]}'),
('a target that is too long', 'ST001', jsonb_build_object('targets', ARRAY['x', NULL, repeat('x', 1001), NULL])),
('a NULL event for a target', 'ST004', '{"sent": ["1", "2", null, "4"]}'),
('a NULL broadcast', 'ST004', '{"sent": ["1", "2", "3", null]}'),
('a NULL child', 'ST001', '{"children": ["k", null]}'),
('an empty child', 'ST001', '{"children": ["k", ""]}'),
('a child that is too long', 'ST001', jsonb_build_object('children', ARRAY['k', repeat('x', 1001)])),
('a NULL root path', 'ST004', '{"roots": ["r", null]}'),
('a NULL context', 'ST004', '{"contexts": ["1", null]}'),
('a context that is not JSON', 'ST003', '{"contexts": ["1", "x"]}'),
('an empty context', 'ST003', '{"contexts": ["1", ""]}'),
('a context that is more than one value', 'ST003', '{"contexts": ["1", "1,\"status\":\"DONE\""]}'),
('an unknown timer action', 'ST005', '{"actions": ["schedule", "start"]}'),
('a NULL timer action', 'ST005', '{"actions": ["schedule", null]}'),
('a NULL timer path', 'ST004', '{"paths": ["t", null]}'),
('a timer path that is too long', 'ST001', jsonb_build_object('paths', ARRAY['t', repeat('x', 1001)])),
('a NULL time', 'ST006', '{"times": [1, null]}'),
('a time that is not finite', 'ST006', '{"times": ["1", "Infinity"]}'),
('a negative trace cap', 'ST002', '{"cap": -1}'),
('a clock that is no time', 'ST006', '{"now": "NaN"}');
CREATE FUNCTION pg_temp.finish(p_change jsonb) RETURNS SETOF record LANGUAGE sql AS $$
    SELECT f.* FROM jsonb_to_record(
        '{"ids": ["a", "b"], "defns": ["d", "d"], "datas": ["1", "2"], "olds": [1, 1], "events": ["x", "y"],
        "targets": ["x", null, "y", null], "sent": ["1", "2", "3", "4"],
        "children": ["k", "l"], "roots": ["r", "r"], "contexts": ["1", "2"],
        "actions": ["schedule", "schedule"], "paths": ["t", "t"], "times": [1, 2], "cap": 5, "now": 101}'::jsonb
        || p_change
    ) AS c (
        ids text[], defns text[], datas text[], olds bigint[], events text[], targets text[], sent text[],
        children text[], roots text[], contexts text[], actions text[], paths text[], times float8[], cap integer,
        now float8
    ), harel_finish(
        c.ids,
        ARRAY(SELECT CASE WHEN n = 1 OR p_change -> 'tokens' IS NULL THEN token END FROM lease, generate_series(1, 2) n
            WHERE group_id = 'a' ORDER BY n),
        c.defns, c.datas, c.olds, c.events, '{1,1,2,2}', c.targets, c.sent, '{1,2}', c.children, c.roots, c.contexts,
        '{1,2}', c.actions, c.paths, c.times, '{s,s}', c.cap, c.now
    ) f
$$;

SELECT throws_ok(format('SELECT pg_temp.finish(%L)', change), code, NULL, name) FROM sample ORDER BY place;
SELECT is(pg_temp.everything(), (SELECT content FROM before), 'nothing of any call stays');
SELECT is(
    ARRAY(SELECT result FROM pg_temp.finish('{}') AS f (id text, result text, version int, outbox_seqs bigint[])),
    '{finished,finished}', 'and without a mistake the call is a good one'
);

SELECT * FROM finish();
