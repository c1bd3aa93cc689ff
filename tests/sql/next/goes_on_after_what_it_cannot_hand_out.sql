SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas('failed', 'd', '{"status": "FAILED"}', 0);
    PERFORM harel_commit_cas('suspended', 'd', '{"status": "SUSPENDED"}', 0);
    PERFORM harel_commit_cas('good', 'd', '{"status": "RUNNING"}', 0);
    PERFORM harel_publish(e, 'ev', p_now => 100 + n)
    FROM unnest('{failed,unknown,suspended,good}'::text[]) WITH ORDINALITY AS o (e, n);
END
$$;

SELECT is(
    ARRAY(SELECT group_id FROM harel_next('w', 30, p_now => 200)), '{good}',
    'one call finds the message behind those of executions that have failed, are unknown and suspended'
);
SELECT is(
    ARRAY(SELECT group_id FROM harel_dead_letters() ORDER BY group_id), '{failed,unknown}',
    'which are dealt with'
);

SELECT * FROM finish();
