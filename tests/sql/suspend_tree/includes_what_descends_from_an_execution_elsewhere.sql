SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_commit_cas('b', 'd', '{"status": "RUNNING", "version": 1, "parent_id": "elsewhere"}', 0);
    PERFORM harel_commit_cas('c', 'd', '{"status": "RUNNING", "version": 1, "parent_id": "b"}', 0);
    PERFORM harel_commit_cas('d', 'd', '{"status": "RUNNING", "version": 1}', 0);
END
$$;
CREATE TEMP TABLE done AS SELECT * FROM harel_suspend_tree('{elsewhere}');
SELECT is(ARRAY(SELECT unnest(ids) FROM done ORDER BY 1), '{b,c,elsewhere}', 'it names them');
SELECT is((SELECT changed FROM done), true, 'says that something was changed');
SELECT is(ARRAY(SELECT id || status FROM executions ORDER BY id), '{bSUSPENDED,cSUSPENDED,dRUNNING}', 'and what was');
SELECT is((SELECT changed FROM harel_suspend_tree('{elsewhere}')), false, 'a second time nothing is');
SELECT throws_ok($$SELECT * FROM harel_suspend_tree('{b,NULL}')$$, 'ST001', NULL, 'NULL is no id');

SELECT * FROM finish();
