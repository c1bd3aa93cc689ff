SELECT plan(3);

CREATE TEMP TABLE sample (status text);
INSERT INTO sample VALUES ('PENDING'), ('RUNNING'), ('odd "one"'), ('DONE'), ('CANCELLED'), ('FAILED'), ('SUSPENDED');
DO $$ BEGIN PERFORM harel_commit_cas(status, 'd', json_build_object('status', status)::text, 0) FROM sample; END $$;
CREATE TEMP TABLE answer AS SELECT status, harel_suspend(status) AS changed FROM sample;

SELECT is(
    ARRAY(SELECT status FROM answer WHERE changed), ARRAY['PENDING', 'RUNNING', 'odd "one"'], 'these can be suspended'
);
SELECT is(
    ARRAY(SELECT id FROM executions WHERE status = 'SUSPENDED' ORDER BY id),
    ARRAY['PENDING', 'RUNNING', 'SUSPENDED', 'odd "one"'], 'and are'
);
SELECT is(
    ARRAY(SELECT id FROM executions WHERE status = id AND version = 1 ORDER BY id), '{CANCELLED,DONE,FAILED,SUSPENDED}',
    'the others stay as they are'
);

SELECT * FROM finish();
