SELECT plan(11);

CREATE SCHEMA other;
CREATE TABLE other.executions (id text PRIMARY KEY, definition_id text NOT NULL, data text NOT NULL, version int NOT NULL);
CREATE TABLE other.outbox (seq bigserial PRIMARY KEY, target_id text, event text NOT NULL);
CREATE TABLE other.processed_events (execution_id text, event_id text, PRIMARY KEY (execution_id, event_id));
CREATE TABLE other.timers (
    execution_id text, path text, fire_at double precision NOT NULL, PRIMARY KEY (execution_id, path)
);
CREATE TABLE other.spawns (
    seq bigserial PRIMARY KEY, parent_id text NOT NULL, child_id text NOT NULL, root_path text NOT NULL,
    context text NOT NULL
);
CREATE TABLE other.trace (execution_id text, idx int, entry text NOT NULL, PRIMARY KEY (execution_id, idx));
INSERT INTO other.executions VALUES
('a', 'd', ' {"status" : "RUNNING", "active_path": "/x", "parent_id": "b", "priority": 2}', 7),
('b', 'd', '{"status": "DONE", "finished_at": 100, "outcome": "ok", "nul": "\u0000"}', 3);
INSERT INTO other.outbox (target_id, event) VALUES ('b', ' {"id": "1"}'), (NULL, '{"id": "2"}'), ('b', 'gone');
DELETE FROM other.outbox WHERE event = 'gone';
INSERT INTO other.processed_events VALUES ('a', 'ev');
INSERT INTO other.timers VALUES ('a', '', 12.5);
INSERT INTO other.spawns (parent_id, child_id, root_path, context) VALUES ('a', 'c', '/r', ' {}');
INSERT INTO other.trace VALUES ('a', 4, 'step');

SELECT is(harel_adopt('other'), 8::bigint, 'says how many rows there were');
SELECT is(
    ARRAY(
        SELECT (
            id, definition_id, data, version, status, active_path, parent_id, priority, outcome,
            extract(epoch FROM finished_at)::integer
        )::text FROM executions ORDER BY id
    ),
    ARRAY[
        (
            'a', 'd', ' {"status" : "RUNNING", "active_path": "/x", "parent_id": "b", "priority": 2}', 7, 'RUNNING', '/x',
            'b', 2, NULL, NULL
        )::text,
        (
            'b', 'd', '{"status": "DONE", "finished_at": 100, "outcome": "ok", "nul": "\u0000"}', 3, 'DONE', NULL, NULL,
            0, 'ok', 100
        )::text
    ],
    'executions with what is broken out of them'
);
SELECT is(
    ARRAY(SELECT (seq, target_id, event)::text FROM outbox ORDER BY seq),
    ARRAY[(1, 'b', ' {"id": "1"}')::text, (2, NULL, '{"id": "2"}')::text], 'the outbox'
);
SELECT is(ARRAY(SELECT (execution_id, event_id)::text FROM processed_events), '{"(a,ev)"}', 'the ledger');
SELECT is(ARRAY(SELECT t::text FROM timers t), ARRAY[('a', '', 12.5)::text], 'timers');
SELECT is(
    ARRAY(SELECT concat_ws('|', seq, parent_id, child_id, root_path, context) FROM spawns), ARRAY['1|a|c|/r| {}'], 'spawns'
);
SELECT is(ARRAY(SELECT t::text FROM trace t), ARRAY[('a', 4, 'step', NULL)::text], 'the trace, of a time that nobody knows');
SELECT is(
    (
        SELECT c.outbox_seqs FROM harel_commit(
            'a', 'd', '{"status": "RUNNING"}', 7, 'ev2', '{b}', '{e}', '{c2}', '{/r}', '{"{}"}', p_trace => 'next'
        ) c
    ), '{4}', 'no seq is given twice, though its row be gone'
);
SELECT is(ARRAY(SELECT seq FROM spawns ORDER BY seq), '{1,2}', 'that of a spawn goes on');
SELECT is((SELECT max(idx) FROM trace), 5, 'the trace goes on');
SELECT is(
    ARRAY(
        SELECT relname::text FROM pg_class
        WHERE relnamespace = 'other'::regnamespace AND relkind = 'r'
        ORDER BY relname
    ),
    '{executions_adopted,outbox_adopted,processed_events_adopted,spawns_adopted,timers_adopted,trace_adopted}',
    'the tables stay under other names'
);

SELECT * FROM finish();
