SELECT plan(6);

-- The registers are not rolled back. This one has the floor at 1000 seconds, and allows it to be moved now.
DO $$
BEGIN
    PERFORM setval('transport_floor', 1000000000), setval('transport_tend_at', 0);
    PERFORM setval('transport_lift_at', 9000000000000000);
    PERFORM harel_publish('g', 'a', 0, 2000.25), harel_publish('h', 'b', 0, 3000), harel_publish('i', 'c', 0, 2500);
END
$$;

SELECT is((SELECT event FROM harel_claim('w', 1e12)), 'a', 'the claim that moves it');
SELECT is((SELECT last_value FROM transport_floor), 2000250000::bigint, 'leaves it at the first group');
DO $$ BEGIN PERFORM setval('transport_tend_at', (extract(epoch FROM clock_timestamp() + '4 s') * 1000000)::bigint); END $$;
SELECT is((SELECT event FROM harel_claim('w', 1e12)), 'c', 'before it is to be moved');
SELECT is((SELECT last_value FROM transport_floor), 2000250000::bigint, 'it stays');
DO $$ BEGIN PERFORM setval('transport_tend_at', 0); END $$;
SELECT is((SELECT event FROM harel_claim('w', 1e12)), 'b', 'and then');
SELECT is((SELECT last_value FROM transport_floor), 3000000000::bigint, 'it is at what is the first one now');

SELECT * FROM finish();
