SELECT plan(2);

CREATE TEMP TABLE sample (n integer, fire_at float8);
INSERT INTO sample VALUES
(1, 0.1), (2, 1735689600.123457), (3, -1.5), (4, 0), (5, 1e-7), (6, 1e22), (7, -1.7976931348623157e308), (8, 5e-324);
INSERT INTO timers SELECT 'e' || n, 'p', fire_at FROM sample;
SET LOCAL extra_float_digits = -15;
CREATE TEMP TABLE fired AS SELECT harel_fire_timers(1e22) AS number;
SET LOCAL extra_float_digits = 1;

SELECT is((SELECT number FROM fired), 8, 'all fire');
SELECT is_empty(
    $$SELECT s.n, s.fire_at, m.event FROM sample s LEFT JOIN transport_messages m ON m.group_id = 'e' || s.n
    WHERE (m.event::json -> 'data' ->> 'fire_at')::float8 IS DISTINCT FROM s.fire_at$$,
    'the event has the very number, whatever the settings'
);

SELECT * FROM finish();
