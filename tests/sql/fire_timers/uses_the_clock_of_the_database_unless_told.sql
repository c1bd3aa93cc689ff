SELECT plan(2);

INSERT INTO timers
SELECT 'e', path, extract(epoch FROM clock_timestamp()) + after
FROM (VALUES ('past', -1), ('future', 60)) v (path, after);

SELECT is(harel_fire_timers(), 1, 'one is due at present');
SELECT is(ARRAY(SELECT path FROM timers), '{future}', 'and the other is not');

SELECT * FROM finish();
