SELECT plan(6);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 0, 1), harel_publish('g', 'b', 0, 1); END $$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_claim('w', 10, p_now => 2);

SELECT is(harel_nack('g', (SELECT token FROM lease), p_now => 3), true, 'it says so');
SELECT results_eq(
    'SELECT available_at, token, worker FROM transport_groups',
    'VALUES (3::double precision, NULL::uuid, NULL::text)', 'nobody has it leased, and it can be claimed at once'
);
SELECT is((SELECT event FROM harel_claim('v', 10, p_now => 3)), 'a', 'it is still the first of its group');
SELECT is((SELECT attempts FROM transport_groups), 2, 'and its deliveries are counted on');
SELECT is(harel_nack('g', (SELECT token FROM lease), p_now => 4), false, 'the old token is worth nothing');
SELECT is((SELECT count(*) FROM transport_messages), 2::bigint, 'no message is lost');

SELECT * FROM finish();
