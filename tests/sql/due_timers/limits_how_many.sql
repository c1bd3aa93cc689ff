SELECT plan(5);

INSERT INTO timers SELECT 'e', 'p' || n, n FROM generate_series(1, 5) n;

SELECT is(ARRAY(SELECT path FROM harel_due_timers(4, 2)), '{p1,p2}', 'to the oldest due');
SELECT is(ARRAY(SELECT path FROM harel_due_timers(4, 9)), '{p1,p2,p3,p4}', 'to all that are due');
SELECT is(ARRAY(SELECT path FROM harel_due_timers(4, NULL)), '{p1,p2,p3,p4}', 'NULL to all');
SELECT is_empty('SELECT * FROM harel_due_timers(4, 0)', '0 to none');
SELECT throws_ok('SELECT * FROM harel_due_timers(4, -1)', 'ST008', NULL, '-1 is refused');

SELECT * FROM finish();
