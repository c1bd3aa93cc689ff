SELECT plan(3);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 0, 1); END $$;

SELECT throws_ok($$SELECT * FROM harel_claim('w', 10, NULL)$$, 'ST008', 'a claim must have a limit', 'NULL');
SELECT throws_ok($$SELECT * FROM harel_claim('w', 10, -1)$$, 'ST008', 'limit must not be negative', '-1');
SELECT is((SELECT attempts FROM transport_groups), 0, 'nothing is leased');

SELECT * FROM finish();
