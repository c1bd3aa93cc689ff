SELECT plan(1);

CREATE TEMP TABLE sample (id text, data text);
INSERT INTO sample VALUES
('NUL', '{"status":"PENDING","a":"\u0000"}'), ('surrogate', '{"a":"\ud83d","status":"PENDING"}'),
('number', '{"status":"PENDING","a":1e999999}'), ('deeper', '{"status":"PENDING","a":{"resumes_as":"x"}}');
DO $$ BEGIN PERFORM harel_commit_cas(id, 'd', data, 0), harel_suspend(id), harel_resume(id) FROM sample; END $$;

SELECT is(
    ARRAY(SELECT id FROM executions WHERE status = 'PENDING' AND version = 3 ORDER BY id),
    '{NUL,deeper,number,surrogate}',
    'all are what they were'
);

SELECT * FROM finish();
