SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_publish('poison' || n, 'poison', n % 5, n) FROM generate_series(1, 20) n;
    PERFORM harel_claim('w', 10, 20, p_now => 30);
    PERFORM harel_publish('g' || n, 'good' || n, 0, 40 + n) FROM generate_series(1, 3) n;
    PERFORM harel_publish('poison1', 'after', 0, 44);
END
$$;

SELECT is(
    ARRAY(SELECT event FROM harel_claim('w', 10, 3, p_max_attempts => 1, p_now => 50)), '{good1,good2,good3}',
    'a claim gives what it is asked for, however many it passes over'
);
SELECT is((SELECT count(*) FROM dead_letters), 20::bigint, 'these are dead letters');
SELECT is((SELECT sum(attempts) FROM dead_letters), 20::bigint, 'of one delivery each');
SELECT is(
    ARRAY(SELECT event FROM harel_claim('w', 10, 3, p_max_attempts => 1, p_now => 50)), '{after}',
    'what was behind one of them comes next'
);
SELECT is_empty('SELECT * FROM harel_claim($$w$$, 10, 3, p_max_attempts => 1, p_now => 50)', 'and that was all');

SELECT * FROM finish();
