SELECT plan(7);

CREATE FUNCTION pg_temp.give_back(p_now double precision, p_max_attempts integer) RETURNS boolean LANGUAGE sql AS $$
    SELECT harel_nack('g', c.token, 1000, 'the card was declined', p_max_attempts, p_now + 1)
    FROM harel_claim('w', 10, p_now => p_now) c
$$;
DO $$ BEGIN PERFORM harel_publish('g', 'a', 0, 1), harel_publish('g', 'b', 0, 1); END $$;

SELECT is(pg_temp.give_back(2, 2), true, 'the first delivery');
SELECT is_empty('SELECT * FROM dead_letters', 'parks it');
SELECT is(pg_temp.give_back(2000, 2), true, 'the second');
SELECT results_eq(
    'SELECT group_id, event, reason, attempts FROM dead_letters',
    $$VALUES ('g' COLLATE "C", 'a', 'the card was declined', 2)$$, 'makes it a dead letter, for the reason given'
);
SELECT is((SELECT array_agg(event) FROM transport_messages), '{b}', 'it is no longer in the queue');
SELECT is((SELECT available_at FROM transport_groups), 2001::double precision, 'the delay is not for the next message');
SELECT is((SELECT attempts FROM harel_claim('w', 10, p_now => 2001)), 1, 'which counts its own deliveries');

SELECT * FROM finish();
