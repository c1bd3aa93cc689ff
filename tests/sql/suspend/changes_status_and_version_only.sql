SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"id": "e", "status": "RUNNING", "version": 1, "context": {"n": 1}}', 0);
    PERFORM harel_commit_cas('other', 'd', '{"id": "other", "status": "RUNNING", "version": 1}', 0);
END
$$;

SELECT is(harel_suspend('e'), true, 'it is suspended');
SELECT is(
    harel_load('e'), '{"id": "e", "status": "SUSPENDED", "version": 2, "context": {"n": 1}}',
    'its data says so, as a new version'
);
SELECT is((SELECT status || version FROM executions WHERE id = 'e'), 'SUSPENDED2', 'and so does its row');
SELECT is(
    harel_load('other'), '{"id": "other", "status": "RUNNING", "version": 1}', 'another execution stays as it is'
);

SELECT * FROM finish();
