SELECT plan(2);

CREATE TEMP TABLE sample (n integer, path text);
INSERT INTO sample VALUES
(1, ''), (2, '"'), (3, '\'), (4, E'a\nb\t\u0001'), (5, '","fire_at":0,"x":"'), (6, 'é 日本 𝄞'), (7, '\u0041'),
(8, '%s %1$s'), (9, repeat('x', 1000));
INSERT INTO timers SELECT 'e' || n, path, 100 FROM sample;

SELECT is(harel_fire_timers(100), 9, 'all fire');
SELECT is_empty(
    $$SELECT s.n, m.event FROM sample s LEFT JOIN transport_messages m ON m.group_id = 'e' || s.n
    WHERE m.event::jsonb -> 'data' IS DISTINCT FROM jsonb_build_object('path', s.path, 'fire_at', 100)$$,
    'the event is JSON and has the very path'
);

SELECT * FROM finish();
