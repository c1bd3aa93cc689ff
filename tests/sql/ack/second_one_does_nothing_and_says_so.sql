SELECT plan(4);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 0, 1), harel_publish('g', 'b', 0, 1); END $$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_claim('w', 10, p_now => 2);

SELECT is(harel_ack('g', (SELECT token FROM lease), 3), true, 'the first');
SELECT is(harel_ack('g', (SELECT token FROM lease), 3), false, 'the second');
SELECT is((SELECT array_agg(event) FROM transport_messages), '{b}', 'the next message is not taken for it');
SELECT is(
    (SELECT array_agg(harel_ack('g', l.token, 5)) FROM lease l, harel_claim('w', 10, p_now => 4)), '{f}',
    'not when it is leased either'
);

SELECT * FROM finish();
