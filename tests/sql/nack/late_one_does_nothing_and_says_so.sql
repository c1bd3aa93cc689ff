SELECT plan(7);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 0, 1); END $$;
CREATE TEMP TABLE late AS SELECT * FROM harel_claim('w', 10, p_now => 2);
CREATE TEMP TABLE before AS SELECT * FROM transport_groups;

SELECT is(harel_nack('g', (SELECT token FROM late), 100, p_now => 12), false, 'at the deadline the lease is over');
SELECT is(harel_nack('g', (SELECT token FROM late), 0, 'broken', 1, 12), false, 'also for the last delivery');
SELECT results_eq('SELECT * FROM transport_groups', 'SELECT * FROM before', 'and nothing is done');
SELECT is_empty('SELECT * FROM dead_letters', 'nothing at all');
DO $$ BEGIN PERFORM harel_claim('v', 10, p_now => 20); END $$;
SELECT is(harel_nack('g', (SELECT token FROM late), p_now => 11), false, 'nor when another has claimed it');
SELECT is((SELECT worker FROM transport_groups), 'v', 'who goes on');
SELECT is(
    harel_nack('no such group', (SELECT token FROM late), p_now => 11), false,
    'a group that is gone has nothing to give back'
);

SELECT * FROM finish();
