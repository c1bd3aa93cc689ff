SELECT plan(5);

INSERT INTO timers VALUES ('a', 'p', 3), ('b', 'p', 1), ('c', 'p', 2), ('d', 'p', 4);

SELECT is(harel_fire_timers(100, 0), 0, 'none');
SELECT is_empty('SELECT * FROM transport_messages', 'fires none');
SELECT is(harel_fire_timers(100, 2), 2, 'two');
SELECT is(ARRAY(SELECT execution_id FROM timers ORDER BY execution_id), '{a,d}', 'are those that were due first');
SELECT is(harel_fire_timers(100, NULL), 2, 'NULL is no limit');

SELECT * FROM finish();
