SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas(s, 'd', format('{"status": "%s"}', s), 0)
    FROM unnest('{PENDING,RUNNING,DONE,CANCELLED,SUSPENDED,CANCELLING,FAILED}'::text[]) s;
    PERFORM harel_commit_cas('none', 'd', '{}', 0);
    PERFORM harel_commit_cas('late ' || s, 'd', '{"status": "RUNNING"}', 0)
    FROM unnest('{DONE,CANCELLED,FAILED}'::text[]) s;
    PERFORM harel_commit_cas('late ' || s, 'd', format('{"status": "%s"}', s), 1)
    FROM unnest('{DONE,CANCELLED,FAILED}'::text[]) s;
END
$$;

SELECT is(
    ARRAY(SELECT id FROM executions WHERE finished_at = now() ORDER BY id),
    '{CANCELLED,DONE,FAILED,late CANCELLED,late DONE,late FAILED}',
    'it is the time of the commit for the three final statuses, on a first save and later'
);
SELECT is(
    ARRAY(SELECT id FROM executions WHERE finished_at IS NULL ORDER BY id),
    '{CANCELLING,PENDING,RUNNING,SUSPENDED,none}',
    'and NULL for all others'
);

SELECT * FROM finish();
