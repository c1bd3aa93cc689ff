SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas('p', 'd', '{"status": "RUNNING"}', 0);
    PERFORM harel_commit_cas(c, 'd', '{"status": "RUNNING", "parent_id": "p"}', 0) FROM unnest('{a,b}'::text[]) c;
END
$$;

SELECT is(harel_suspend('a'), true, 'a child is suspended');
SELECT is(ARRAY(SELECT id || status FROM executions ORDER BY id), '{aSUSPENDED,bRUNNING,pRUNNING}', 'and no other');

SELECT * FROM finish();
