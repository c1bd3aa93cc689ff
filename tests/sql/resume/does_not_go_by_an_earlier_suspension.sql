SELECT plan(2);

-- It was PENDING when it was suspended first; then somebody made it RUNNING in all of its data.
DO $$
BEGIN
    PERFORM harel_commit_cas('x', 'd', '{"status":"PENDING","version":1}', 0);
    PERFORM harel_suspend('x');
    PERFORM harel_commit_cas(
        'x', 'd', regexp_replace(regexp_replace(harel_load('x'), 'SUSPENDED', 'RUNNING'), '"version":2', '"version":3'), 2
    );
    PERFORM harel_suspend('x');
    PERFORM harel_resume('x');
END
$$;

SELECT is(ARRAY(SELECT status || ' ' || version FROM executions), '{RUNNING 5}', 'it resumes as what it was last');
SELECT is(harel_load('x')::json ->> 'status', 'RUNNING', 'also in its data');

SELECT * FROM finish();
