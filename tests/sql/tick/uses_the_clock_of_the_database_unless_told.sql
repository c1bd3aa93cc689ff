SELECT plan(2);

INSERT INTO timers
SELECT 'e', path, extract(epoch FROM clock_timestamp()) + after
FROM (VALUES ('past', -1), ('future', 60)) v (path, after);
CREATE TEMP TABLE answer AS SELECT * FROM harel_tick();

SELECT is((SELECT fired FROM answer), 1, 'one is due at present');
SELECT is((SELECT next_at FROM answer), (SELECT fire_at FROM timers), 'and the other is next');

SELECT * FROM finish();
