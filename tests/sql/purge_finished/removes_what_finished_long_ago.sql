SELECT plan(6);

DO $$
BEGIN
    PERFORM harel_commit(
        e, 'd', format('{"status": %s, "finished_at": %s}', s::jsonb, t), 0, 'ev', p_trace => 'step',
        p_timer_actions => '{schedule}', p_timer_paths => '{p}', p_timer_fire_ats => '{1e9}'
    ) FROM (VALUES
        ('old', '"DONE"', 100), ('cancelled', '"CANCELLED"', 101), ('failed', '"FAILED"', 102), ('young', '"DONE"', 951),
        ('running', '"RUNNING"', 100)
    ) AS v (e, s, t);
    INSERT INTO dead_letters (group_id, seq, event, reason, attempts, published_at)
    VALUES ('old', 1, 'e', 'r', 1, now()), ('running', 1, 'e', 'r', 1, now());
END
$$;

SELECT is(harel_purge_finished(50, p_limit => 2, p_now => 1000), 2, 'says how many');
SELECT is(ARRAY(SELECT id FROM executions ORDER BY id), '{failed,running,young}', 'those that finished longest ago first');
SELECT is(harel_purge_finished(50, p_now => 1000), 1, 'the next batch');
SELECT is(ARRAY(SELECT id FROM executions ORDER BY id), '{running,young}', 'not what is younger or has not finished');
SELECT is(
    ARRAY(
        SELECT execution_id FROM trace UNION SELECT execution_id FROM timers UNION SELECT execution_id FROM processed_events
        UNION SELECT group_id FROM dead_letters
        ORDER BY 1
    ), '{running,young}', 'with everything of theirs, and nothing of others'
);
SELECT is(harel_purge_finished(50, p_now => 1000), 0, 'then there is nothing left');

SELECT * FROM finish();
