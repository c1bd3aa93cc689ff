SELECT plan(3);

DO $$ BEGIN PERFORM harel_publish('g' || n, 'a', 0, n) FROM generate_series(1, 4) n; END $$;
CREATE TEMP TABLE leases AS SELECT 1 AS claim, * FROM harel_claim('w', 10, 2, p_now => 5);
INSERT INTO leases SELECT 2, * FROM harel_claim('w', 10, 2, p_now => 5);

SELECT is((SELECT count(DISTINCT token) FROM leases WHERE claim = 1), 1::bigint, 'for all its messages');
SELECT is((SELECT count(DISTINCT token) FROM leases), 2::bigint, 'and no two claims have the same');
SELECT is(
    harel_ack('g1', (SELECT token FROM leases WHERE group_id = 'g3'), 6), false,
    'so that one does not settle for another'
);

SELECT * FROM finish();
