SELECT plan(6);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"status":"PENDING","version":1,"n":1}', 0);
    PERFORM harel_suspend('e');
END
$$;

SELECT is(
    harel_load('e'), '{"resumes_as":"PENDING","status":"SUSPENDED","version":2,"n":1}',
    'while suspended the data keeps it'
);
SELECT is(harel_resume('e'), true, 'it is resumed');
SELECT is(harel_load('e'), '{"resumes_as":null,"status":"PENDING","version":3,"n":1}', 'then no longer');
SELECT is(harel_commit_cas('e', 'd', replace(harel_load('e'), 'PENDING', 'RUNNING'), 3), true, 'it goes on to run');
SELECT is(harel_suspend('e') AND harel_resume('e'), true, 'and suspended and resumed again');
SELECT is((SELECT status FROM executions), 'RUNNING', 'it runs');

SELECT * FROM finish();
