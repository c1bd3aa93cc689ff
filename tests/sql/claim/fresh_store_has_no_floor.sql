SELECT plan(3);

SELECT is(
    (SELECT s.seqstart FROM pg_sequence s WHERE s.seqrelid = 'transport_floor'::regclass), -9223372036854775807,
    'its register begins as low as there is'
);
DO $$
BEGIN
    ALTER SEQUENCE transport_floor RESTART;
    ALTER SEQUENCE transport_tend_at RESTART;
    ALTER SEQUENCE transport_lift_at RESTART;
    PERFORM harel_publish('g', 'a', 0, -1000000);
END
$$;
SELECT is((SELECT event FROM harel_claim('w', 1e12)), 'a', 'what a restore brings is found at once, whatever its time');
SELECT is((SELECT last_value FROM transport_floor), -1000000000000, 'and the floor begins there');

SELECT * FROM finish();
