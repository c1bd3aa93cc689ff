SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_commit_cas('e',
    'd', E' {"a":"\\u0000", "status" : "SUSPENDED","resumes_as":"x","n":1.0,\n"version":1} ', 0);
    PERFORM harel_cancel('e');
END
$$;

SELECT is(
    harel_load('e'), E' {"a":"\\u0000", "status" : "CANCELLED","resumes_as":"x","n":1.0,\n"version":2} ',
    'only status and version change'
);

SELECT * FROM finish();
