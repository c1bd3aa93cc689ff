SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_publish('g', 'a', 0, 1);
    PERFORM harel_nack('g', c.token, 100, p_now => 3) FROM harel_claim('w', 10, p_now => 2) c;
END
$$;

SELECT is_empty('SELECT * FROM harel_claim($$w$$, 10, p_now => 50)', 'the deadline of the lease is forgotten');
SELECT is((SELECT event FROM harel_claim('w', 10, p_now => 103)), 'a', 'the delay is kept');

SELECT * FROM finish();
