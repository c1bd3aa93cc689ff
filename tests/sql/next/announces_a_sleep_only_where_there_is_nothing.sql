SELECT plan(6);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
    PERFORM harel_publish('e', 'ev', p_now => 100);
    PERFORM setval('transport_asleep_until', 0);
END
$$;

SELECT is((SELECT count(*) FROM harel_next('w', 30, p_sleep => 60, p_now => 200)), 1::bigint, 'there is a message');
SELECT is((SELECT last_value FROM transport_asleep_until), 0::bigint, 'so nobody goes to sleep');
SELECT is_empty($$SELECT * FROM harel_next('w', 30, p_now => 200)$$, 'without a sleep and without a message');
SELECT is((SELECT last_value FROM transport_asleep_until), 0::bigint, 'nothing is announced');
SELECT is_empty(
    $$SELECT * FROM harel_next('w', 30, p_sleep => 60, p_now => 200)$$, 'with a sleep and without a message'
);
SELECT is(
    (
        SELECT round(last_value / 1e6 - extract(epoch FROM clock_timestamp())) BETWEEN 50 AND 60
        FROM transport_asleep_until
    ), true, 'the end of the sleep is announced, by the clock of the database'
);

SELECT * FROM finish();
