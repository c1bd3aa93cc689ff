SELECT plan(4);

DO $$
BEGIN
    PERFORM setval('transport_floor', 1000000000), setval('transport_tend_at', 0), setval('transport_lift_at', 0);
    PERFORM harel_claim('w', 10);
END
$$;
CREATE TEMP TABLE registers AS
SELECT f.last_value AS floor, t.last_value AS tend_at, l.last_value AS lift_at
FROM transport_floor f, transport_tend_at t, transport_lift_at l;

SELECT ok(
    floor / 1000000.0 BETWEEN extract(epoch FROM now()) - 0.5 AND extract(epoch FROM clock_timestamp()) - 0.5,
    'with no group at all: what is being published now may still get a place above it'
) FROM registers;
SELECT ok(tend_at - floor BETWEEN 999999 AND 1000001, 'it is moved again half a second from now') FROM registers;
SELECT ok(lift_at - floor >= 1499999, 'and a second from now what is below it is looked for again') FROM registers;
SELECT is((SELECT event FROM harel_claim('w', 10)), NULL, 'another claim finds nothing either');

SELECT * FROM finish();
