SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'door', '{"status": "RUNNING", "n": 1}', 0);
    PERFORM harel_commit_cas('e', 'door', '{"status": "RUNNING", "n": 2}', 1);
    PERFORM harel_publish('e', '{"id": "ev"}', p_now => 100);
END
$$;
CREATE TEMP TABLE answer AS SELECT * FROM harel_next('w', 30, p_now => 101);

SELECT is(
    (SELECT concat_ws(' ', group_id, event, deadline, attempts) FROM answer), 'e {"id": "ev"} 131 1',
    'the message is leased'
);
SELECT is(
    (SELECT concat_ws(' ', definition_id, data, version, status, already_processed) FROM answer),
    'door {"status": "RUNNING", "n": 2} 2 RUNNING f', 'and comes with its execution'
);
SELECT is((SELECT seq FROM answer), (SELECT seq FROM transport_messages), 'it is the one in the queue');
SELECT is(
    (SELECT concat_ws(' ', token, worker, available_at, attempts) FROM transport_groups),
    (SELECT concat_ws(' ', token, 'w', deadline, 1) FROM answer), 'whose group knows the lease'
);

SELECT * FROM finish();
