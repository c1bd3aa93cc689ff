SELECT plan(6);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 0, 1), harel_publish('h', 'b', 0, 2), harel_publish('i', 'c', 0, 2); END $$;
CREATE TEMP TABLE leases AS SELECT * FROM harel_claim('w', 10, p_now => 3);
INSERT INTO leases SELECT * FROM harel_claim('w', 10, p_now => 3);

SELECT is(harel_ack('g', gen_random_uuid(), 4), false, 'any token will not do');
SELECT is(harel_ack('g', (SELECT token FROM leases WHERE group_id = 'h'), 4), false, 'nor will that of another group');
SELECT is(
    harel_ack('i', (SELECT token FROM leases WHERE group_id = 'h'), 4), false, 'nor one for a group that is not leased'
);
SELECT is(harel_ack('no such group', (SELECT token FROM leases LIMIT 1), 4), false, 'nor for none');
SELECT is((SELECT count(*) FROM transport_messages), 3::bigint, 'nothing is removed');
SELECT is((SELECT count(*) FROM transport_groups WHERE token IS NOT NULL), 2::bigint, 'and both leases hold');

SELECT * FROM finish();
