SELECT plan(3);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 0, 1); END $$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_claim('w', 0, p_now => 2);

SELECT is((SELECT event FROM lease), 'a', 'the message is shown');
SELECT is(harel_ack('g', (SELECT token FROM lease), 2), false, 'but nobody holds it');
SELECT is((SELECT attempts FROM harel_claim('w', 10, p_now => 2)), 2, 'and the next one gets it');

SELECT * FROM finish();
