SELECT plan(4);

DO $$ BEGIN PERFORM harel_publish('g', 'a'), harel_publish('h', 'b', 0, extract(epoch FROM now()) + 3600); END $$;
CREATE TEMP TABLE leases AS SELECT * FROM harel_claim('w', 30, 5);

SELECT is((SELECT array_agg(event) FROM leases), '{a}', 'what is available now');
SELECT ok(
    (SELECT deadline FROM leases) - 30 BETWEEN extract(epoch FROM now()) AND extract(epoch FROM clock_timestamp()),
    'the deadline counts from now'
);
SELECT is_empty('SELECT * FROM harel_claim($$w$$, 30, 5)', 'an hour has not passed');
SELECT is(
    ARRAY(SELECT event FROM harel_claim('w', 30, 5, p_now => extract(epoch FROM now()) + 3600)), '{a,b}',
    'unless told so'
);

SELECT * FROM finish();
