SELECT plan(4);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 0, 1), harel_publish('h', 'b', 0, 2), harel_publish('i', 'c', 0, 2); END $$;
CREATE TEMP TABLE leases AS SELECT * FROM harel_claim('w', 10, p_now => 3);
INSERT INTO leases SELECT * FROM harel_claim('w', 10, p_now => 3);

SELECT is(harel_nack('g', gen_random_uuid(), p_now => 4), false, 'any token will not do');
SELECT is(
    harel_nack('g', (SELECT token FROM leases WHERE group_id = 'h'), p_now => 4), false,
    'nor will that of another group'
);
SELECT is(harel_nack('i', gen_random_uuid(), p_now => 4), false, 'nor one for a group that is not leased');
SELECT is((SELECT count(*) FROM transport_groups WHERE token IS NOT NULL), 2::bigint, 'both leases hold');

SELECT * FROM finish();
