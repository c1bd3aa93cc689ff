SELECT plan(6);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 0, 1); END $$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_claim('w', 10, p_now => 2);

SELECT results_eq(
    $$SELECT * FROM harel_extend('{g}', ARRAY[(SELECT token FROM lease)], 100, 11)$$,
    $$VALUES ('g', 111::double precision)$$, 'to so many seconds from now'
);
SELECT is_empty('SELECT * FROM harel_claim($$v$$, 10, p_now => 110)', 'until then nobody else gets the message');
SELECT is((SELECT attempts FROM transport_groups), 1, 'it is no further delivery');
SELECT is((SELECT worker FROM transport_groups), 'w', 'nor another worker');
SELECT is((SELECT token FROM transport_groups), (SELECT token FROM lease), 'the token stays');
SELECT is(harel_ack('g', (SELECT token FROM lease), 110), true, 'and settles it later');

SELECT * FROM finish();
