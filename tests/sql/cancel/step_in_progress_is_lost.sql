SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"status": "RUNNING"}', 0);
    PERFORM harel_publish('e', 'ev');
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 3600);
DO $$ BEGIN PERFORM harel_cancel('e'); END $$;

SELECT is(
    (SELECT f.result FROM lease l, harel_finish('{e}', ARRAY[l.token], '{d}', '{1}', '{1}') f), 'expired',
    'it cannot be finished'
);
SELECT is((SELECT harel_ack('e', token) FROM lease), false, 'nor acked');
SELECT is(harel_commit_cas('e', 'd', '{"status": "RUNNING"}', 1), false, 'a commit from before is a conflict');
SELECT is(
    (SELECT concat_ws(' ', status, version) FROM executions), 'CANCELLED 2', 'it stays cancelled'
);

SELECT * FROM finish();
