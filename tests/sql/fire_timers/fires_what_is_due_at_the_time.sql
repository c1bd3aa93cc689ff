SELECT plan(2);

INSERT INTO timers VALUES ('before', 'p', 99.999999), ('at', 'p', 100), ('after', 'p', 100.000001);

SELECT is(harel_fire_timers(100), 2, 'two of three');
SELECT is(
    ARRAY(SELECT group_id FROM transport_messages ORDER BY group_id), '{at,before}', 'up to the time and including it'
);

SELECT * FROM finish();
