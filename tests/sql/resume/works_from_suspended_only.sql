SELECT plan(4);

CREATE TEMP TABLE sample (status text);
INSERT INTO sample VALUES (''), ('PENDING'), ('RUNNING'), ('DONE'), ('CANCELLED'), ('FAILED'), ('SUSPENDED');
DO $$
BEGIN
    PERFORM harel_commit_cas('e' || status, 'd', format('{"status": "%s"}', status), 0) FROM sample;
    PERFORM harel_publish('e' || status, 'ev', p_now => 100) FROM sample;
END
$$;

SELECT is(ARRAY(SELECT status FROM sample WHERE harel_resume('e' || status)), '{SUSPENDED}', 'of all statuses one');
SELECT is(ARRAY(SELECT id FROM executions WHERE version <> 1), '{eSUSPENDED}', 'the others stay as they are');
SELECT is(harel_resume('unknown'), false, 'an unknown one is not resumed');
SELECT throws_ok('SELECT harel_resume(NULL)', 'ST001', NULL, 'and NULL is refused');

SELECT * FROM finish();
