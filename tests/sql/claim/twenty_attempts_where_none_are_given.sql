SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_publish('g', 'a', 0, 1);
    PERFORM harel_claim('w', 0, p_now => 2) FROM generate_series(1, 19);
END
$$;

SELECT is((SELECT attempts FROM harel_claim('w', 0, p_now => 2)), 20, 'the twentieth is allowed');
SELECT is_empty('SELECT * FROM harel_claim($$w$$, 0, p_now => 2)', 'there is no further one');
SELECT is((SELECT attempts FROM dead_letters), 20, 'but a dead letter');

SELECT * FROM finish();
