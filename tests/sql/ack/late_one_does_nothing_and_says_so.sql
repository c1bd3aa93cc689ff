SELECT plan(7);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 0, 1), harel_publish('g', 'b', 0, 1); END $$;
CREATE TEMP TABLE late AS SELECT * FROM harel_claim('w', 10, p_now => 2);
CREATE TEMP TABLE before AS SELECT * FROM transport_groups;

SELECT is(harel_ack('g', (SELECT token FROM late), 12), false, 'at the deadline the lease is over');
SELECT results_eq('SELECT * FROM transport_groups', 'SELECT * FROM before', 'and nothing is done');
CREATE TEMP TABLE lease AS SELECT * FROM harel_claim('v', 10, p_now => 20);
SELECT is(harel_ack('g', (SELECT token FROM late), 11), false, 'once another has claimed it, whatever the clock says');
SELECT is((SELECT count(*) FROM transport_messages), 2::bigint, 'the message stays');
SELECT is(harel_ack('g', (SELECT token FROM lease), 29.999), true, 'for the other, just before its deadline');
SELECT is(harel_ack('g', (SELECT token FROM late), 11), false, 'and then not either');
SELECT is((SELECT array_agg(event) FROM transport_messages), '{b}', 'what comes next is not touched');

SELECT * FROM finish();
