SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas('a', 'd', '{"status": "RUNNING"}', 0);
    PERFORM harel_commit_cas('b', 'd', '[]', 0);
END
$$;

SELECT throws_ok('SELECT harel_suspend_all()', 'ST003', NULL, 'data that is no object');
SELECT is((SELECT status FROM executions WHERE id = 'a'), 'RUNNING', 'and none is suspended');
SELECT is(harel_suspend_all(p_statuses => '{RUNNING}'), 1, 'unless a filter leaves it out');

SELECT * FROM finish();
