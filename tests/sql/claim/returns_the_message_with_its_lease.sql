SELECT plan(9);

CREATE TEMP TABLE published AS SELECT harel_publish('g', '{"x": 1}', 0, 1) AS seq;
CREATE TEMP TABLE lease AS SELECT * FROM harel_claim('worker 7', 30, p_now => 5);

SELECT is((SELECT group_id FROM lease), 'g', 'its group');
SELECT is((SELECT seq FROM lease), (SELECT seq FROM published), 'its number');
SELECT is((SELECT event FROM lease), '{"x": 1}', 'the event');
SELECT isnt((SELECT token FROM lease), NULL, 'a token');
SELECT is((SELECT deadline FROM lease), 35::double precision, 'the deadline');
SELECT is((SELECT attempts FROM lease), 1, 'and how often it has been delivered');
SELECT results_eq(
    'SELECT token, available_at, attempts, worker FROM transport_groups',
    $$SELECT token, deadline, attempts, 'worker 7' FROM lease$$, 'the group has the lease, and the worker'
);
SELECT ok(
    (SELECT claimed_at FROM transport_groups) BETWEEN now() AND clock_timestamp(),
    'and the time of the claim by the clock of the database'
);
SELECT is((SELECT count(*) FROM transport_messages), 1::bigint, 'the message stays until it is settled');

SELECT * FROM finish();
