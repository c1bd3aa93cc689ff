SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('by itself', 'd', '{"status":"SUSPENDED","version":1}', 0);
    PERFORM harel_commit_cas('none', 'd', '{"version":1}', 0);
    PERFORM harel_suspend('none');
END
$$;

SELECT is(harel_resume('by itself'), true, 'one that a worker has suspended');
SELECT is(harel_load('by itself'), '{"status":"RUNNING","version":2}', 'runs');
SELECT is(harel_resume('none'), true, 'one that had none');
SELECT is(harel_load('none'), '{"status":"RUNNING","version":3}', 'does so too');

SELECT * FROM finish();
