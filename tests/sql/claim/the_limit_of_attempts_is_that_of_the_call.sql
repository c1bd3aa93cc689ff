SELECT plan(4);

CREATE FUNCTION pg_temp.deliver(p_times integer, p_max_attempts integer) RETURNS void LANGUAGE sql AS $$
    SELECT harel_claim('w', 0, 1, 0, p_max_attempts, 2) FROM generate_series(1, p_times)
$$;
DO $$
BEGIN
    PERFORM harel_publish('g', 'a', 0, 1);
    PERFORM pg_temp.deliver(25, NULL);
END
$$;

SELECT is((SELECT attempts FROM transport_groups), 25, 'NULL is no limit');
SELECT is((SELECT attempts FROM harel_claim('w', 0, p_max_attempts => 26, p_now => 2)), 26, 'one more is allowed');
SELECT is_empty(
    'SELECT * FROM harel_claim($$w$$, 0, p_max_attempts => 3, p_now => 2)', 'a lower limit takes effect at once'
);
SELECT is(
    (SELECT reason FROM dead_letters), 'delivered 26 times without having been handled',
    'the reason has what was, not the limit'
);

SELECT * FROM finish();
