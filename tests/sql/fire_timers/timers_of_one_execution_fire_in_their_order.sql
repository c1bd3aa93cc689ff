SELECT plan(3);

INSERT INTO timers VALUES
('e', 'd', 3), ('e', 'c', 1), ('e', 'b', 2), ('e', 'a', 2), ('e', 'e', -1),
('f', 'z', 0), ('f', 'a', 10), ('f', 'b', 9);
DO $$ BEGIN PERFORM harel_publish('f', '{"data": {"path": "first"}}', p_now => 50); END $$;

SELECT is(harel_fire_timers(100), 8, 'all are due');
SELECT is(
    ARRAY(SELECT event::jsonb -> 'data' ->> 'path' FROM transport_messages WHERE group_id = 'e' ORDER BY seq),
    '{e,c,a,b,d}',
    'earliest first, and by path at one time'
);
SELECT is(
    ARRAY(SELECT event::jsonb -> 'data' ->> 'path' FROM transport_messages WHERE group_id = 'f' ORDER BY seq),
    '{first,z,b,a}',
    'behind what is there'
);

SELECT * FROM finish();
