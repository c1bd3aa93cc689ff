SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"priority": 3}', 0);
    PERFORM harel_publish_many('{e,f}', '{a,b}');
END
$$;

SELECT results_eq(
    'SELECT group_id, priority FROM transport_groups ORDER BY group_id',
    $$VALUES ('e' COLLATE "C", 0::smallint), ('f', 0::smallint)$$,
    'as for one message, even where the execution has another'
);
SELECT is(harel_publish_many('{g,h}', '{a,b}', '{}'), 2, 'no list and an empty one are the same');
SELECT is(
    ARRAY(SELECT priority FROM transport_groups WHERE group_id IN ('g', 'h')), '{0,0}'::smallint[],
    'and have the same effect'
);

SELECT * FROM finish();
