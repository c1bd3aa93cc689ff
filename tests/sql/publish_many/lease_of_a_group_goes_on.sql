SELECT plan(3);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 0, 1); END $$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_claim('w', 10, p_now => 2);

SELECT is(
    harel_publish_many('{g,h}', '{b,c}', NULL, 3), 2, 'messages for a group whose first one is leased, and another'
);
SELECT is(ARRAY(SELECT event FROM harel_claim('v', 10, 9, p_now => 4)), '{c}', 'only the other can be claimed');
SELECT is(harel_ack('g', (SELECT token FROM lease), 5), true, 'until the lease is settled');

SELECT * FROM finish();
