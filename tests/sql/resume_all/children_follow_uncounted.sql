SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('p', 'door', '{"status": "RUNNING"}', 0);
    PERFORM harel_commit_cas('c', 'part', '{"status": "PENDING", "parent_id": "p"}', 0);
    PERFORM harel_publish(id, 'ev') FROM unnest('{p,c,other}'::text[]) id;
    PERFORM harel_suspend_all();
END
$$;

SELECT is(harel_resume_all('door', p_dry_run => true), 1, 'one matches');
SELECT is(harel_resume_all('door'), 1, 'one is counted');
SELECT is(ARRAY(SELECT id || status FROM executions ORDER BY id), '{cPENDING,pRUNNING}', 'and both are as they were');
SELECT is(
    ARRAY(SELECT group_id FROM harel_next('w', 30, 9) ORDER BY group_id), '{c,p}', 'their messages can be claimed'
);

SELECT * FROM finish();
