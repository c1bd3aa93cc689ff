SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"status": "RUNNING", "finished_at": null}', 0);
    PERFORM harel_commit_cas('f', 'd', '{"status": "RUNNING", "finished_at": 1000.5}', 0);
    PERFORM harel_cancel('e'), harel_cancel('f');
END
$$;

SELECT is((SELECT finished_at FROM executions WHERE id = 'e'), (SELECT updated_at FROM executions WHERE id = 'e'), 'where it names none, it is now');
SELECT is((SELECT finished_at FROM executions WHERE id = 'f'), to_timestamp(1000.5), 'otherwise that');

SELECT * FROM finish();
