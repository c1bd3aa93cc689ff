SELECT plan(8);

DO $$ BEGIN PERFORM harel_publish('g', 'poison', 0, 1), harel_publish('g', 'next', 0, 1); END $$;
CREATE TEMP TABLE published AS SELECT seq, published_at FROM transport_messages WHERE event = 'poison';

SELECT is((SELECT attempts FROM harel_claim('w', 10, p_max_attempts => 2, p_now => 10)), 1, 'it is delivered once');
SELECT is((SELECT attempts FROM harel_claim('w', 10, p_max_attempts => 2, p_now => 20)), 2, 'and twice');
CREATE TEMP TABLE claimed AS SELECT claimed_at FROM transport_groups;
SELECT is(
    (SELECT event FROM harel_claim('w', 10, p_max_attempts => 2, p_now => 30)), 'next', 'then the group moves on'
);
SELECT is((SELECT attempts FROM transport_groups), 1, 'and counts anew');
SELECT results_eq(
    'SELECT group_id, seq, event, reason, attempts, published_at, delivered_at FROM dead_letters',
    $$SELECT
        'g' COLLATE "C", seq, 'poison', 'delivered 2 times without having been handled', 2, published_at,
        (SELECT claimed_at FROM claimed)
    FROM published$$, 'it is a dead letter, with everything about it'
);
SELECT ok((SELECT dead_at FROM dead_letters) BETWEEN now() AND clock_timestamp(), 'since now');
SELECT is((SELECT array_agg(event) FROM transport_messages), '{next}', 'and no longer in the queue');
SELECT is((SELECT tail - head FROM transport_groups), 0::bigint, 'where the numbers have no gap');

SELECT * FROM finish();
