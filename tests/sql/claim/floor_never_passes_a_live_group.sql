SELECT plan(5);

CREATE FUNCTION pg_temp.tended() RETURNS numeric LANGUAGE plpgsql AS $$
BEGIN
    PERFORM setval('transport_floor', 1000000000), setval('transport_tend_at', 0);
    PERFORM setval('transport_lift_at', 9000000000000000);
    PERFORM harel_claim('w', 10, 0);
    RETURN (SELECT last_value / 1000000.0 - extract(epoch FROM now()) FROM transport_floor);
END
$$;
DO $$ BEGIN PERFORM harel_publish('g', 'a', 0, 2000); END $$;

SELECT is(pg_temp.tended() + extract(epoch FROM now()), 2000.0, 'one that waits');
DO $$ BEGIN PERFORM harel_claim('w', extract(epoch FROM now()) - 2102, p_now => 2100); END $$;
SELECT is(round(pg_temp.tended(), 3), -2.000, 'one whose lease has expired');
DO $$ BEGIN PERFORM harel_claim('w', 1e9, p_now => extract(epoch FROM now()) - 1); END $$;
SELECT ok(pg_temp.tended() BETWEEN -0.5 AND 10, 'one that is leased is not before half a second ago');
UPDATE transport_groups SET available_at = 'Infinity', token = NULL;
SELECT ok(pg_temp.tended() BETWEEN -0.5 AND 10, 'nor is a suspended one');
UPDATE transport_groups SET available_at = 1000;
SELECT is(pg_temp.tended() + extract(epoch FROM now()), 1000.0, 'one that stands on it');

SELECT * FROM finish();
