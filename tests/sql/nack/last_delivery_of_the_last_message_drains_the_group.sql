SELECT plan(3);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 0, 1); END $$;

SELECT is(
    (SELECT harel_nack('g', c.token, p_max_attempts => 1, p_now => 3) FROM harel_claim('w', 10, p_now => 2) c), true,
    'given back'
);
SELECT is_empty('SELECT * FROM transport_groups', 'nothing is left in the queue');
SELECT is(
    (SELECT reason FROM dead_letters), 'delivered 1 times without having been handled',
    'a reason is given where none was'
);

SELECT * FROM finish();
