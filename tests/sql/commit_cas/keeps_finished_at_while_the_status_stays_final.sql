SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"status": "DONE"}', 0);
    UPDATE executions SET finished_at = '2001-02-03 04:05:06+00';
    PERFORM harel_commit_cas('e', 'd', '{"status": "DONE", "n": 1}', 1);
END
$$;

SELECT is((SELECT finished_at FROM executions), '2001-02-03 04:05:06+00', 'a commit that stays DONE keeps the time');
SELECT is(harel_commit_cas('e', 'd', '{"status": "FAILED"}', 2), true, 'another final status follows');
SELECT is((SELECT finished_at FROM executions), '2001-02-03 04:05:06+00', 'and keeps the time too');

SELECT * FROM finish();
