SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
    PERFORM harel_publish('e', 'ev', 4, 100);
    PERFORM setval('transport_asleep_until', 0);
END
$$;

SELECT is_empty($$SELECT * FROM harel_next('w', 30, 0, p_now => 200)$$, 'no message');
SELECT is_empty($$SELECT * FROM harel_next('w', 30, 0, 1, p_now => 200)$$, 'no urgent one');
SELECT is_empty($$SELECT * FROM harel_next('w', 30, 0, p_sleep => 60, p_now => 200)$$, 'and with a sleep');
SELECT is((SELECT last_value FROM transport_asleep_until), 0::bigint, 'nobody has announced to be asleep');
SELECT is((SELECT concat_ws(' ', available_at, attempts, token) FROM transport_groups), '100 0', 'nothing is leased');

SELECT * FROM finish();
