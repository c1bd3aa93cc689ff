SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_publish('g', 'a', 0, 1), harel_publish('h', 'b', 0, 2);
    PERFORM harel_nack('g', c.token, p_now => 4) FROM harel_claim('w', 10, p_now => 3) c;
END
$$;

SELECT is(
    ARRAY(SELECT event FROM harel_claim('w', 10, 2, p_now => 5)), '{b,a}', 'groups that have not been served come first'
);

SELECT * FROM finish();
