SELECT plan(5);

-- So far as the registers say, it is long until the next look below the floor.
DO $$
BEGIN
    PERFORM setval('transport_floor', 5000000000);
    PERFORM setval('transport_tend_at', (extract(epoch FROM clock_timestamp() + '4 s') * 1000000)::bigint), setval('transport_lift_at', 9000000000000000);
    PERFORM harel_publish('below', 'a', 3, 4999.999), harel_publish('on', 'b', 3, 5000);
    PERFORM harel_publish('above', 'c', 3, 5001);
END
$$;

SELECT is(ARRAY(SELECT event FROM harel_claim('w', 0, 9, 1)), '{b,c}', 'by priority');
DO $$ BEGIN PERFORM setval('transport_floor', 5000000000); END $$;
SELECT is(ARRAY(SELECT event FROM harel_claim('w', 0, 9) ORDER BY event), '{b,c}', 'nor in the order of time');
SELECT is_empty($$SELECT * FROM harel_next('w', 0, 9) WHERE event = 'a'$$, 'nor by harel_next()');
SELECT is(
    (SELECT event FROM harel_claim('w', 0, p_now => 5000)), 'a',
    'but by who has another clock, as the floor is not of it'
);
SELECT is((SELECT last_value FROM transport_floor), 5000000000, 'who does not move it either');

SELECT * FROM finish();
