SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('p', 'door', '{"status": "RUNNING"}', 0);
    PERFORM harel_commit_cas('p/a', 'part', '{"status": "RUNNING", "parent_id": "p"}', 0);
    PERFORM harel_commit_cas('p/a/b', 'part', '{"status": "PENDING", "parent_id": "p/a"}', 0);
END
$$;

SELECT is(harel_suspend_all('door', p_dry_run => true), 1, 'one matches');
SELECT is(harel_suspend_all('door'), 1, 'one is counted');
SELECT is(
    ARRAY(SELECT concat_ws(' ', id, status, version) FROM executions ORDER BY id),
    '{p SUSPENDED 2,p/a SUSPENDED 2,p/a/b SUSPENDED 2}', 'and its children are suspended with it, each once'
);
SELECT is(harel_suspend_all(), 0, 'then there is nothing left to suspend');

SELECT * FROM finish();
