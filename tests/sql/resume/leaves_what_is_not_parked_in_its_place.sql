SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_commit_cas(id, 'd', '{"status": "RUNNING"}', 0) FROM unnest('{delayed,new}'::text[]) id;
    PERFORM harel_publish('delayed', 'ev', p_now => 100);
    PERFORM harel_nack(group_id, token, 1e12, p_now => 101) FROM harel_next('w', 30, p_now => 100);
    PERFORM harel_commit_cas('delayed', 'd', '{"status": "SUSPENDED"}', 1);
    PERFORM harel_suspend('new');
    PERFORM harel_publish('new', 'ev', p_now => 102);
    PERFORM harel_resume(id) FROM unnest('{delayed,new}'::text[]) id;
END
$$;

SELECT is(
    ARRAY(SELECT concat_ws(' ', group_id, available_at) FROM transport_groups ORDER BY group_id),
    '{delayed 1000000000101,new 102}', 'a message given back for later, and one that nobody has looked at yet'
);

SELECT * FROM finish();
