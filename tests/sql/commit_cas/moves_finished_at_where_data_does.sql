SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"status": "DONE", "finished_at": 1000}', 0);
    PERFORM harel_commit_cas('e', 'd', '{"status": "FAILED", "finished_at": 2000}', 1);
    PERFORM harel_commit_cas('f', 'd', '{"status": "DONE", "finished_at": 1000}', 0);
    PERFORM harel_commit_cas('f', 'd', '{"status": "DONE"}', 1);
    PERFORM harel_commit_cas('g', 'd', '{"status": "DONE", "finished_at": 1000}', 0);
    PERFORM harel_commit_cas('g', 'd', '{"status": "RUNNING", "finished_at": 1000}', 1);
END
$$;

SELECT is((SELECT finished_at FROM executions WHERE id = 'e'), to_timestamp(2000), 'data names another time');
SELECT is((SELECT finished_at FROM executions WHERE id = 'f'), to_timestamp(1000), 'data names none: it stays');
SELECT is((SELECT finished_at FROM executions WHERE id = 'g'), NULL, 'it runs again: there is none');

SELECT * FROM finish();
