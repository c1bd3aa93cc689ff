SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas('a', 'd', '{"status": "RUNNING", "parent_id": "b"}', 0);
    PERFORM harel_commit_cas('b', 'd', '{"status": "RUNNING", "parent_id": "a"}', 0);
    PERFORM harel_commit_cas('self', 'd', '{"status": "RUNNING", "parent_id": "self"}', 0);
END
$$;

SELECT is(harel_suspend('a'), true, 'two that are each other''s parents are suspended');
SELECT is(harel_suspend('self'), true, 'and one that is its own');
SELECT is(ARRAY(SELECT version FROM executions WHERE status = 'SUSPENDED'), '{2,2,2}', 'each once');

SELECT * FROM finish();
