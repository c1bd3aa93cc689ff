SELECT plan(8);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"status": "RUNNING"}', 0);
    PERFORM harel_publish('e', 'ev');
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 3600);
DO $$ BEGIN PERFORM harel_suspend('e'); END $$;

SELECT is(
    (SELECT concat_ws(' ', available_at, token, worker) FROM transport_groups), 'Infinity',
    'nobody has the message any more'
);
SELECT is(
    (SELECT f.result FROM lease l, harel_finish('{e}', ARRAY[l.token], '{d}', '{1}', '{1}') f), 'expired',
    'a step in progress cannot be finished'
);
SELECT is(
    (SELECT f.result FROM lease l, harel_finish('{e}', ARRAY[l.token], '{d}', '{NULL}', '{NULL}') f), 'expired',
    'nor given up'
);
SELECT is((SELECT harel_ack('e', token) FROM lease), false, 'nor acked');
SELECT is((SELECT harel_nack('e', token) FROM lease), false, 'nor given back');
SELECT is(harel_commit_cas('e', 'd', '{"status": "RUNNING"}', 1), false, 'a commit from before is a conflict');
SELECT is((SELECT status || version FROM executions), 'SUSPENDED2', 'it stays suspended');
SELECT is((SELECT count(*) FROM transport_messages), 1::bigint, 'with its message');

SELECT * FROM finish();
