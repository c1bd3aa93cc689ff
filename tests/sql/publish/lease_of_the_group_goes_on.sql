SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_publish('g', 'a', 0, 1);
    PERFORM harel_claim('w', 10, p_now => 2);
END
$$;
CREATE TEMP TABLE before AS SELECT available_at, attempts, token, worker, claimed_at, head FROM transport_groups;

SELECT lives_ok($$SELECT harel_publish('g', 'b', 0, 3)$$, 'a message for a group whose first one is leased');
SELECT results_eq(
    'SELECT available_at, attempts, token, worker, claimed_at, head FROM transport_groups', 'SELECT * FROM before',
    'leaves the lease as it is'
);
SELECT is_empty('SELECT * FROM harel_claim($$v$$, 10, p_now => 4)', 'and waits for it');
SELECT is(harel_ack('g', (SELECT token FROM before), 5), true, 'to be settled');

SELECT * FROM finish();
