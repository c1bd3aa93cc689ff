SELECT plan(7);

CREATE FUNCTION pg_temp.look(p_lift_at bigint) RETURNS void LANGUAGE sql AS $$
    SELECT setval('transport_floor', 5000000000), setval('transport_tend_at', 0), setval('transport_lift_at', p_lift_at)
$$;
DO $$
BEGIN
    PERFORM harel_publish('late', 'a', 0, 1), harel_publish('late', 'b', 0, 1), harel_publish('on', 'c', 0, 5000);
    PERFORM pg_temp.look(9000000000000000);
END
$$;

SELECT is(ARRAY(SELECT event FROM harel_claim('w', 1e12, 9)), '{c}', 'it is not found before it is looked for');
DO $$ BEGIN PERFORM pg_temp.look(0); END $$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_claim('w', 1e12, 9);
SELECT is((SELECT array_agg(event) FROM lease), '{a}', 'when it is looked for, it is found in the same claim');
SELECT is((SELECT attempts FROM lease), 1, 'for the first time');
SELECT ok(
    (SELECT last_value FROM transport_lift_at) >= extract(epoch FROM now()) * 1000000 + 1000000,
    'the next look is a second away'
);
DO $$
BEGIN
    PERFORM harel_ack('late', (SELECT token FROM lease));
    UPDATE transport_groups SET available_at = 2 WHERE group_id = 'late';
    PERFORM harel_publish('later', 'd', 2, -1e300);
    PERFORM pg_temp.look(0);
END
$$;
SELECT is((SELECT array_agg(event ORDER BY event) FROM harel_claim('w', 1e12, 9)), '{b,d}', 'as many as there are');
SELECT is_empty('SELECT * FROM transport_groups WHERE available_at < 5000', 'none stays below');
SELECT is((SELECT count(*) FROM transport_messages), 3::bigint, 'and nothing is lost');

SELECT * FROM finish();
