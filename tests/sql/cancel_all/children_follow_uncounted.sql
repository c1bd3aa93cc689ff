SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('p', 'door', '{"status": "RUNNING"}', 0);
    PERFORM harel_commit_cas('c', 'part', '{"status": "PENDING", "parent_id": "p"}', 0);
    PERFORM harel_commit_cas('other', 'part', '{"status": "PENDING"}', 0);
    PERFORM harel_publish(id, 'ev') FROM unnest('{p,c,other}'::text[]) id;
END
$$;

SELECT is(harel_cancel_all('door', p_dry_run => true), 1, 'one matches');
SELECT is(harel_cancel_all('door'), 1, 'one is counted');
SELECT is(
    ARRAY(SELECT id || status FROM executions ORDER BY id), '{cCANCELLED,otherPENDING,pCANCELLED}',
    'its child goes with it'
);
SELECT is(
    ARRAY(SELECT group_id FROM harel_dead_letters() ORDER BY group_id), '{c,p}', 'and so do the messages of both'
);

SELECT * FROM finish();
