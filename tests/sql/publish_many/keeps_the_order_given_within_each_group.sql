SELECT plan(3);

CREATE FUNCTION pg_temp.waiting(p_group_id text) RETURNS text[] LANGUAGE sql AS $$
    SELECT array_agg(event ORDER BY seq) FROM transport_messages WHERE group_id = p_group_id
$$;
DO $$
BEGIN
    PERFORM harel_publish('h', 'zero', 0, 1);
    PERFORM harel_publish_many('{h,g,h,B,g,h}', '{z,y,x,w,v,u}', NULL, 2);
    PERFORM harel_publish_many('{g,h}', '{b,a}', NULL, 3);
END
$$;

SELECT is(pg_temp.waiting('g'), '{y,v,b}', 'by the place in the call, not by what they are');
SELECT is(pg_temp.waiting('h'), '{zero,z,x,u,a}', 'behind those that were there');
SELECT is(pg_temp.waiting('B'), '{w}', 'each in its group');

SELECT * FROM finish();
