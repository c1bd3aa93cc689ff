SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"n": 1}', 0);
    PERFORM harel_commit_cas('e', 'd', '{"n": 2}', 1);
END
$$;

SELECT is(harel_commit_cas('e', 'd', '{"n": "late"}', 1), false, 'a version that has moved on is told false');
SELECT is(harel_load('e'), '{"n": 2}', 'the data of the winner stays');
SELECT is((SELECT version FROM executions), 2, 'at the version of the winner');

SELECT * FROM finish();
