SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas(
        'e', 'door', '{"status": "RUNNING", "priority": 3, "outcome": "ok", "active_path": "a/b", "parent_id": "p"}', 0
    );
    UPDATE executions SET created_at = 'epoch', updated_at = 'epoch';
    PERFORM harel_suspend('e');
END
$$;

SELECT is(
    (SELECT concat_ws(' ', definition_id, priority, outcome, active_path, parent_id) FROM executions),
    'door 3 ok a/b p',
    'they are as before'
);
SELECT is((SELECT created_at FROM executions), 'epoch'::timestamptz, 'it was created when it was');
CREATE TEMP TABLE later AS SELECT updated_at FROM executions;
SELECT ok((SELECT updated_at BETWEEN now() AND clock_timestamp() FROM later), 'and updated now');
SELECT is((SELECT finished_at FROM executions), NULL, 'it is not finished');

SELECT * FROM finish();
