SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"status": "RUNNING"}', 0);
    UPDATE executions SET data = 'not JSON';
END
$$;

SELECT is(ARRAY(SELECT id || status FROM harel_list('d', '{RUNNING}', true)), '{eRUNNING}', 'but what was broken out of it');

SELECT * FROM finish();
