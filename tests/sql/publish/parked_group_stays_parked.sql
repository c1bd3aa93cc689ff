SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_publish('g', 'a', 0, 1);
    PERFORM harel_nack('g', c.token, 10, p_now => 3) FROM harel_claim('w', 10, p_now => 2) c;
    PERFORM harel_publish('g', 'b', 0, 4);
END
$$;

SELECT is((SELECT available_at FROM transport_groups), 13::double precision, 'until the time that it was parked for');
SELECT is_empty('SELECT * FROM harel_claim($$w$$, 10, p_now => 12)', 'the new message is no way round');
SELECT is((SELECT event FROM harel_claim('w', 10, p_now => 13)), 'a', 'then the first one is the first');

SELECT * FROM finish();
