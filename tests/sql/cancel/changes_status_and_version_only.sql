SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"id": "e", "status": "RUNNING", "version": 1, "a": {"status": "RUNNING"}}', 0);
    PERFORM harel_commit_cas('other', 'd', '{"id": "other", "status": "RUNNING", "version": 1}', 0);
END
$$;

SELECT is(harel_cancel('e'), true, 'it is cancelled');
SELECT is(
    harel_load('e'), '{"id": "e", "status": "CANCELLED", "version": 2, "a": {"status": "RUNNING"}}',
    'its data says so, as a new version'
);
SELECT is((SELECT status || version FROM executions WHERE id = 'e'), 'CANCELLED2', 'and so does its row');
SELECT is((SELECT finished_at FROM executions WHERE id = 'e'), now(), 'it is finished');
SELECT is(
    harel_load('other'), '{"id": "other", "status": "RUNNING", "version": 1}', 'another execution stays as it is'
);

SELECT * FROM finish();
