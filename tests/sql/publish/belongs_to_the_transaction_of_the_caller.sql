SELECT plan(4);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 0, 1); END $$;
SAVEPOINT before;
DO $$
BEGIN
    PERFORM harel_publish('g', 'b', 0, 2), harel_publish('h', 'c', 0, 2), harel_publish_many('{i}', '{d}');
END
$$;

SELECT is((SELECT count(*) FROM transport_messages), 4::bigint, 'what was published in it is there');
ROLLBACK TO SAVEPOINT before;
SELECT is((SELECT array_agg(event) FROM transport_messages), '{a}', 'and gone when it is rolled back');
SELECT is((SELECT array_agg(group_id) FROM transport_groups), '{g}', 'so are the groups');
SELECT is((SELECT tail - head FROM transport_groups), 0::bigint, 'and the numbers');

SELECT * FROM finish();
