SELECT plan(3);

CREATE TEMP TABLE sample (status text);
INSERT INTO sample VALUES (''), ('PENDING'), ('RUNNING'), ('SUSPENDED'), ('odd'), ('DONE'), ('CANCELLED'), ('FAILED');
DO $$ BEGIN PERFORM harel_commit_cas('e' || status, 'd', format('{"status": "%s"}', status), 0) FROM sample; END $$;
CREATE TEMP TABLE answer AS SELECT status, harel_cancel('e' || status) AS changed FROM sample;

SELECT is(
    ARRAY(SELECT status FROM answer WHERE changed), '{"",PENDING,RUNNING,SUSPENDED,odd}', 'these can be cancelled'
);
SELECT is(
    ARRAY(SELECT id FROM executions WHERE status = 'CANCELLED' AND version = 2 ORDER BY id),
    '{e,ePENDING,eRUNNING,eSUSPENDED,eodd}', 'and are'
);
SELECT is(
    ARRAY(SELECT id FROM executions WHERE 'e' || status = id AND version = 1 ORDER BY id), '{eCANCELLED,eDONE,eFAILED}',
    'the others stay as they are'
);

SELECT * FROM finish();
