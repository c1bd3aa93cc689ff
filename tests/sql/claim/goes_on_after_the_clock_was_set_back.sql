SELECT plan(8);

-- The registers as they are where the clock was a day ahead.
CREATE FUNCTION pg_temp.set_back() RETURNS void LANGUAGE sql AS $$
    SELECT setval('transport_floor', us), setval('transport_tend_at', us), setval('transport_lift_at', us)
    FROM (SELECT (extract(epoch FROM clock_timestamp() + '1 day') * 1000000)::bigint) AS r (us)
$$;
DO $$ BEGIN PERFORM harel_publish('leased', 'l'), harel_claim('w', 100); END $$;
DO $$ BEGIN PERFORM pg_temp.set_back(), harel_publish('urgent', 'u', 3), harel_publish('usual', 'a'); END $$;

SELECT is((SELECT event FROM harel_claim('w', 100, 1, 1)), 'u', 'the first claim by priority finds what there is');
DO $$ BEGIN PERFORM pg_temp.set_back(); END $$;
SELECT is(ARRAY(SELECT event FROM harel_claim('w', 100, 9)), '{a}', 'and so does one of all, but for what is leased');
SELECT ok(
    (SELECT last_value FROM transport_tend_at) < (extract(epoch FROM clock_timestamp() + '1 s') * 1000000)::bigint,
    'the floor is tended again from now on'
);
SELECT ok(
    (SELECT last_value FROM transport_floor) < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    'it is not ahead'
);
SELECT ok(
    (SELECT last_value FROM transport_lift_at) < (extract(epoch FROM clock_timestamp() + '1 h') * 1000000)::bigint,
    'and what comes below it is looked for'
);

-- A floor that stood at an old message is behind any clock.
DO $$ BEGIN PERFORM pg_temp.set_back(); END $$;
DO $$ BEGIN PERFORM setval('transport_floor', 5000000000), harel_publish('late', 'b', 0, 4999); END $$;
SELECT is((SELECT event FROM harel_claim('w', 100)), 'b', 'one below that floor is found as well');

DO $$ BEGIN PERFORM pg_temp.set_back(), harel_publish('other', 'c'); END $$;
SELECT is((SELECT event FROM harel_next('w', 100) n WHERE n.event = 'c'), NULL, 'harel_next() drops it to the dead');
SELECT is((SELECT event FROM harel_dead_letters() WHERE group_id = 'other'), 'c', 'so it has found it');

SELECT * FROM finish();
