SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"status": "FAILED"}', 0);
    UPDATE executions SET finished_at = '2001-02-03 04:05:06+00';
    PERFORM harel_commit_cas('e', 'd', '{"status": "RUNNING"}', 1);
END
$$;

SELECT is((SELECT finished_at FROM executions), NULL, 'running again, it is not finished');
SELECT is(harel_commit_cas('e', 'd', '{"status": "DONE"}', 2), true, 'it comes to its end again');
CREATE TEMP TABLE again AS SELECT finished_at FROM executions;
SELECT ok((SELECT finished_at BETWEEN now() AND clock_timestamp() FROM again), 'at the time of the later commit');

SELECT * FROM finish();
