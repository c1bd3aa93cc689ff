SELECT plan(4);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 0, 100); END $$;

SELECT is_empty(
    'SELECT * FROM harel_claim($$w$$, 10, p_now => 99.999)', 'not before the time that it was published at'
);
SELECT is((SELECT event FROM harel_claim('w', 1e12, p_now => 100)), 'a', 'at that time');
DO $$ BEGIN PERFORM harel_publish('h', 'b'); END $$;
SELECT ok(
    (SELECT available_at FROM transport_groups WHERE group_id = 'h')
        BETWEEN extract(epoch FROM now()) AND extract(epoch FROM clock_timestamp()),
    'which is that of the database where none is given'
);
SELECT is((SELECT event FROM harel_claim('w', 10)), 'b', 'and it is claimed by the same clock');

SELECT * FROM finish();
