SELECT plan(5);

DO $$ BEGIN PERFORM harel_publish('g' || n, n::text, 0, n) FROM generate_series(1, 6) n; END $$;
CREATE TEMP TABLE leases AS SELECT * FROM harel_claim('w', 10, 5, p_now => 10);
DO $$
BEGIN
    PERFORM harel_ack('g1', (SELECT token FROM leases LIMIT 1), 11);
    PERFORM harel_nack('g2', (SELECT token FROM leases LIMIT 1), p_now => 11);
    -- One expires earlier than the others, and one is claimed by another.
    UPDATE transport_groups SET available_at = 12 WHERE group_id = 'g3';
    UPDATE transport_groups SET token = '00000000-0000-0000-0000-000000000000' WHERE group_id = 'g4';
END
$$;
CREATE TEMP TABLE before AS SELECT * FROM transport_groups WHERE group_id <> 'g5';

SELECT results_eq(
    $$SELECT * FROM harel_extend(
        '{g1,g2,g3,g4,g5,g6,none}', array_fill((SELECT token FROM leases LIMIT 1), '{7}'), 30, 12
    )$$,
    $$VALUES ('g5', 42::double precision)$$, 'not those settled, given back, expired, taken over or never held'
);
SELECT results_eq(
    $$SELECT * FROM transport_groups WHERE group_id <> 'g5' ORDER BY group_id$$,
    'SELECT * FROM before ORDER BY group_id',
    'which are left as they are'
);
SELECT is(
    ARRAY(SELECT group_id FROM harel_extend('{g5,g5}', array_fill((SELECT token FROM leases LIMIT 1), '{2}'), 30, 13)),
    '{g5}', 'one that is given twice is returned once'
);
SELECT is_empty('SELECT * FROM harel_extend(NULL, NULL, 30)', 'no leases');
SELECT is_empty('SELECT * FROM harel_extend($${}$$, $${}$$, 30)', 'are an empty answer');

SELECT * FROM finish();
