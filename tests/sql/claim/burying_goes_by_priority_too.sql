SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_publish('g', 'poison', 3, 1), harel_publish('g', 'next', 3, 1), harel_publish('h', 'other', 0, 1);
    PERFORM harel_claim('w', 1, 1, 1, p_now => 2);
END
$$;

SELECT is(
    ARRAY(SELECT event FROM harel_claim('w', 10, 5, 1, p_max_attempts => 1, p_now => 3)), '{next}', 'the group moves on'
);
SELECT is((SELECT array_agg(event) FROM dead_letters), '{poison}', 'without what was delivered too often');

SELECT * FROM finish();
