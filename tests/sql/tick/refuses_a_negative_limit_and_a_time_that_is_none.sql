SELECT plan(4);

INSERT INTO timers VALUES ('e', 'p', 100);

SELECT throws_ok('SELECT harel_tick(-1)', 'ST008', NULL, 'a negative limit');
SELECT throws_ok($$SELECT harel_tick(p_now => 'NaN')$$, 'ST006', NULL, 'NaN');
SELECT throws_ok($$SELECT harel_tick(p_now => 'Infinity')$$, 'ST006', NULL, 'Infinity');
SELECT is((SELECT count(*) FROM timers), 1::bigint, 'nothing is done');

SELECT * FROM finish();
