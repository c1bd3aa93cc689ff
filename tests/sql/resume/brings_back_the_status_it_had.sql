SELECT plan(4);

CREATE TEMP TABLE sample (status text);
INSERT INTO sample VALUES ('PENDING'), ('RUNNING'), ('odd "one" \ é');
DO $$
BEGIN
    PERFORM harel_commit_cas(status, 'd', json_build_object('status', status, 'version', 1)::text, 0) FROM sample;
    PERFORM harel_suspend(status) FROM sample;
END
$$;
CREATE TEMP TABLE answer AS SELECT harel_resume(status) AS changed FROM sample;

SELECT is(ARRAY(SELECT changed FROM answer), '{t,t,t}', 'each is resumed');
SELECT is_empty(
    $$SELECT id, status, data FROM executions WHERE status <> id OR data::json ->> 'status' <> id$$, 'as what it was'
);
SELECT is(
    ARRAY(SELECT version || ' ' || (data::json ->> 'version') FROM executions), '{3 3,3 3,3 3}', 'in a new version'
);
SELECT is(
    harel_load('RUNNING'), '{"status" : "RUNNING", "version" : 3}',
    'one that was running has the data it had, but for that'
);

SELECT * FROM finish();
