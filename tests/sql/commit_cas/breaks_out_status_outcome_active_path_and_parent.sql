SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas(
        'e', 'd', '{"status": "RUNNING", "outcome": "ok", "active_path": "a/b", "parent_id": "p", "x": {"status": "no"}}', 0
    );
END
$$;

SELECT is((SELECT status FROM executions), 'RUNNING', 'the status is that of data');
SELECT is((SELECT outcome FROM executions), 'ok', 'the outcome is that of data');
SELECT is((SELECT active_path FROM executions), 'a/b', 'the active path is that of data');
SELECT is((SELECT parent_id FROM executions), 'p', 'the parent is that of data');

SELECT * FROM finish();
