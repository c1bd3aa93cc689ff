SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_publish('old', 'a', 1, 1);
    PERFORM harel_publish_many('{g,old,h,g}', '{a,b,c,d}', '{3,4,0,4}', 2);
END
$$;

SELECT is((SELECT priority FROM transport_groups WHERE group_id = 'g'), 3::smallint, 'the first of the call');
SELECT is((SELECT priority FROM transport_groups WHERE group_id = 'h'), 0::smallint, 'each group has its own');
SELECT is(
    (SELECT priority FROM transport_groups WHERE group_id = 'old'), 1::smallint, 'and one that was there keeps it'
);

SELECT * FROM finish();
