SELECT plan(3);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 0, 1); END $$;

SELECT throws_ok(
    $$SELECT * FROM harel_claim('w', 10, p_max_attempts => 0, p_now => 2)$$, 'ST008',
    'the greatest number of attempts must be 1 or more', 'no attempt at all is a mistake'
);
SELECT throws_ok(
    $$SELECT * FROM harel_claim('w', 10, p_max_attempts => -1, p_now => 2)$$, 'ST008', NULL, 'and so is less'
);
SELECT is_empty('SELECT * FROM dead_letters', 'the messages stay in the queue');

SELECT * FROM finish();
