SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas('p', 'd', '{"status": "RUNNING"}', 0);
    PERFORM harel_commit_cas('c', 'd', '{"status": "RUNNING", "parent_id": "p"}', 0);
END
$$;

SELECT is(harel_suspend_all('d', p_dry_run => true), 2, 'both match');
SELECT is(harel_suspend_all('d'), 2, 'both are counted');
SELECT is(ARRAY(SELECT id || version FROM executions ORDER BY id), '{c2,p2}', 'and suspended once');

SELECT * FROM finish();
