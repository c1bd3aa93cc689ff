SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit(
        'p', 'd', '{"status": "RUNNING"}', 0, p_timer_actions => '{schedule}', p_timer_paths => '{t}',
        p_timer_fire_ats => '{1}'
    );
    PERFORM harel_commit_cas('e', 'd', '{"parent_id": "p", "status": {"a": 1}}', 0);
    PERFORM harel_publish('p', 'ev', p_now => 100);
END
$$;

SELECT throws_ok($$SELECT harel_cancel('p')$$, 'ST003', NULL, 'one in the tree whose status is no text');
SELECT is((SELECT status FROM executions WHERE id = 'p'), 'RUNNING', 'and none is cancelled');
SELECT is((SELECT count(*) FROM timers), 1::bigint, 'no timer removed');
SELECT is((SELECT count(*) FROM transport_messages), 1::bigint, 'no message dropped');

SELECT * FROM finish();
