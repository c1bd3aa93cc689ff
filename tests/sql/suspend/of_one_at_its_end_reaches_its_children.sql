SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas('p', 'd', '{"status": "DONE"}', 0);
    PERFORM harel_commit_cas('c', 'd', '{"status": "RUNNING", "parent_id": "p"}', 0);
END
$$;

SELECT is(harel_suspend('p'), true, 'something is suspended');
SELECT is(ARRAY(SELECT id || status FROM executions ORDER BY id), '{cSUSPENDED,pDONE}', 'the child');
SELECT is(harel_suspend('p'), false, 'and the second time nothing is');

SELECT * FROM finish();
