SELECT plan(4);

INSERT INTO timers VALUES ('e', 'p', 100);

SELECT throws_ok('SELECT harel_fire_timers(200, -1)', 'ST008', NULL, 'a negative limit');
SELECT throws_ok($$SELECT harel_fire_timers('NaN')$$, 'ST006', NULL, 'NaN');
SELECT throws_ok($$SELECT harel_fire_timers('Infinity')$$, 'ST006', NULL, 'Infinity');
SELECT is((SELECT count(*) FROM timers), 1::bigint, 'nothing fires');

SELECT * FROM finish();
