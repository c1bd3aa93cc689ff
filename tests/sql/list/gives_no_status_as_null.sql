SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_commit_cas('a', 'd', '{}', 0);
    PERFORM harel_commit_cas('b', 'd', '{"status": null}', 0);
    PERFORM harel_commit_cas('c', 'd', '{"status": ""}', 0);
    PERFORM harel_commit_cas('d', 'd', '[]', 0);
    PERFORM harel_commit_cas('e', 'd', '{"status": "RUNNING"}', 0);
END
$$;

SELECT is(ARRAY(SELECT status FROM harel_list()), ARRAY[NULL, NULL, NULL, NULL, 'RUNNING'], 'whatever made it missing');
SELECT is(ARRAY(SELECT id FROM harel_list('d')), '{a,b,c,d,e}', 'they are listed with their definition');
SELECT is(ARRAY(SELECT id FROM harel_list(NULL, NULL, true)), '{a,b,c,d,e}', 'and with the roots');
SELECT is(ARRAY(SELECT id FROM harel_list('d', '{RUNNING}')), '{e}', 'a filter on a status leaves them out');
SELECT is(ARRAY(SELECT id FROM harel_list('d', '{NULL}')), '{}'::text[], 'and so does one on NULL');

SELECT * FROM finish();
