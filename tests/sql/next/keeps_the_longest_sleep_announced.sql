SELECT plan(2);

CREATE TEMP TABLE seen (place serial, until bigint);
DO $$
BEGIN
    PERFORM harel_next('a', 30, p_sleep => 600, p_now => 200);
    INSERT INTO seen (until) SELECT last_value FROM transport_asleep_until;
    PERFORM harel_next('b', 30, p_sleep => 1, p_now => 200);
    INSERT INTO seen (until) SELECT last_value FROM transport_asleep_until;
    PERFORM harel_next('c', 30, p_sleep => 900, p_now => 200);
    INSERT INTO seen (until) SELECT last_value FROM transport_asleep_until;
END
$$;

SELECT is(
    (SELECT b.until - a.until FROM seen a, seen b WHERE a.place = 1 AND b.place = 2), 0::bigint,
    'a shorter one counts not'
);
SELECT ok((SELECT b.until > a.until FROM seen a, seen b WHERE a.place = 2 AND b.place = 3), 'a longer one does');

SELECT * FROM finish();
