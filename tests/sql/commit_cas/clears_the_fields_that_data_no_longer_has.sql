SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_commit_cas(
        'e', 'd', '{"status": "RUNNING", "outcome": "ok", "active_path": "a/b", "parent_id": "p"}', 0
    );
END
$$;

SELECT is(harel_commit_cas('e', 'd', '{"outcome": null}', 1), true, 'data without the fields commits');
SELECT is((SELECT status FROM executions), '', 'the status is empty');
SELECT is((SELECT outcome FROM executions), NULL, 'the outcome is NULL');
SELECT is((SELECT active_path FROM executions), NULL, 'the active path is NULL');
SELECT is((SELECT parent_id FROM executions), NULL, 'the parent is NULL');

SELECT * FROM finish();
