-- One execution by way of store, queue and timers. All of it is rolled back.
BEGIN;
CREATE SCHEMA harel_installcheck;
CREATE EXTENSION harel SCHEMA harel_installcheck;
SET LOCAL search_path = harel_installcheck;

-- A save, and the same once more.
SELECT harel_commit_cas('order-1', 'order', '{"status": "RUNNING"}', 0);
SELECT harel_commit_cas('order-1', 'order', '{"status": "RUNNING"}', 0);

-- An event waits, is leased with its execution, and goes with the step.
SELECT harel_publish('order-1', '{"id": "paid-1", "kind": "Paid"}') IS NOT NULL AS published;
CREATE TEMPORARY TABLE leased AS SELECT * FROM harel_next('worker-1', 30, 10);
SELECT group_id, event, data, version, already_processed FROM leased;
SELECT f.group_id, f.result, f.stored_version
FROM leased l
CROSS JOIN LATERAL harel_finish(
    ARRAY[l.group_id], ARRAY[l.token], ARRAY['order'], ARRAY['{"status": "RUNNING"}'], ARRAY[l.version], ARRAY['paid-1'],
    p_timer_commits => ARRAY[1], p_timer_actions => ARRAY['schedule'], p_timer_paths => ARRAY['/shipping'],
    p_timer_fire_ats => ARRAY[1]
) f;
SELECT version, already_processed FROM harel_load_for_event('order-1', 'paid-1');

-- The timer is due.
SELECT spawned, relayed, fired FROM harel_tick();
SELECT executions, queued, timers, dead_letters, processed_events FROM harel_stats();
ROLLBACK;
