SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_publish('g', 'poison', 0, 1);
    PERFORM harel_claim('w', 10, p_max_attempts => 1, p_now => 2);
END
$$;

SELECT is_empty('SELECT * FROM harel_claim($$w$$, 10, 5, p_max_attempts => 1, p_now => 12)', 'there is nothing else');
SELECT is((SELECT array_agg(event) FROM dead_letters), '{poison}', 'it is a dead letter');
SELECT is_empty('SELECT * FROM transport_messages', 'no message is left');
SELECT is_empty('SELECT * FROM transport_groups', 'nor the group');

SELECT * FROM finish();
