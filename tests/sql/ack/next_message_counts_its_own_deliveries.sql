SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_publish('g', 'a', 0, 1), harel_publish('g', 'b', 0, 1);
    PERFORM harel_claim('w', 0, p_now => 2) FROM generate_series(1, 5);
    PERFORM harel_ack('g', c.token, 4) FROM harel_claim('w', 10, p_now => 3) c;
END
$$;

SELECT is((SELECT attempts FROM harel_claim('w', 0, p_max_attempts => 6, p_now => 5)), 1, 'from one');
SELECT is_empty('SELECT * FROM dead_letters', 'and those of the one before do not make it a dead letter');

SELECT * FROM finish();
