SELECT plan(10);

CREATE TEMP TABLE answer AS
SELECT * FROM harel_commit(
    'e', 'd', '{"status": "RUNNING"}', 0, 'ev', '{x}', '{hello}', '{c}', '{a/b}', '{"{\"k\": 1}"}',
    '{schedule}', '{a}', '{12.5}', 'step', 10
);

SELECT is((SELECT committed FROM answer), true, 'the first save commits');
SELECT is((SELECT stored_version FROM answer), 1, 'at version 1');
SELECT is(
    (SELECT outbox_seqs FROM answer), ARRAY(SELECT seq FROM outbox), 'with the seq of the one outbox row'
);
SELECT is((SELECT count(*) FROM answer), 1::bigint, 'in one row');
SELECT is(harel_load('e'), '{"status": "RUNNING"}', 'the data is stored');
SELECT results_eq(
    'SELECT target_id, event, source_id FROM harel_pending_outbox()', $$VALUES ('x', 'hello', 'e')$$,
    'the event is in the outbox, with its target and who emitted it'
);
SELECT results_eq(
    'SELECT parent_id, child_id, root_path, context FROM harel_pending_spawns()',
    $$VALUES ('e', 'c', 'a/b', '{"k": 1}')$$, 'the child is asked for'
);
SELECT results_eq(
    'SELECT * FROM harel_due_timers(12.5)', $$VALUES ('e', 'a', 12.5::double precision)$$, 'the timer is armed'
);
SELECT results_eq('SELECT * FROM harel_read_trace(''e'')', $$VALUES (0, 'step')$$, 'the trace has its entry');
SELECT is(harel_is_processed('e', 'ev'), true, 'the event is marked');

SELECT * FROM finish();
