SELECT plan(4);

DO $$
BEGIN
    PERFORM setval('transport_floor', 5000000000), setval('transport_tend_at', 0), setval('transport_lift_at', 0);
    PERFORM harel_publish_many(array_agg('g' || n), array_agg(n::text), NULL, 1) FROM generate_series(1, 1500) n;
END
$$;

SELECT is((SELECT count(*) FROM harel_claim('w', 1e12, 9999)), 1000::bigint, 'so many can be claimed then');
DO $$ BEGIN PERFORM setval('transport_lift_at', 9000000000000000); END $$;
SELECT is_empty('SELECT * FROM harel_claim($$w$$, 1e12, 9999)', 'and no more before the next look');
DO $$ BEGIN PERFORM setval('transport_tend_at', 0), setval('transport_lift_at', 0); END $$;
SELECT is((SELECT count(*) FROM harel_claim('w', 1e12, 9999)), 500::bigint, 'which lifts the others');
SELECT is_empty('SELECT * FROM transport_groups WHERE available_at < 5000', 'none is left');

SELECT * FROM finish();
