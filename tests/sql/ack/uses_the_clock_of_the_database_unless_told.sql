SELECT plan(4);

DO $$ BEGIN PERFORM harel_publish('g', 'a'), harel_publish('g', 'b'), harel_publish('g', 'c'); END $$;

SELECT is((SELECT harel_ack('g', c.token) FROM harel_claim('w', 60) c), true, 'a minute has not passed');
SELECT ok(
    (SELECT available_at FROM transport_groups)
        BETWEEN extract(epoch FROM now()) AND extract(epoch FROM clock_timestamp()),
    'the next message waits since now'
);
SELECT is((SELECT harel_ack('g', c.token) FROM harel_claim('w', 0) c), false, 'no time at all has');
SELECT is(
    (SELECT harel_ack('g', c.token, c.deadline + 1) FROM harel_claim('w', 60) c), false,
    'and so has a minute, if told so'
);

SELECT * FROM finish();
