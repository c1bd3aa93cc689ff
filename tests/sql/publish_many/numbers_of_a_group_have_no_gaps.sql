SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_publish('g', 'a', 0, 1);
    PERFORM harel_publish_many('{g,h,g,h,h}', '{b,c,d,e,f}', NULL, 2);
    PERFORM harel_publish('h', 'g', 0, 3);
    PERFORM harel_publish_many('{h,g}', '{h,i}', NULL, 4);
END
$$;

SELECT results_eq(
    'SELECT m.group_id, m.seq - g.head, m.event
    FROM transport_messages m JOIN transport_groups g USING (group_id)
    ORDER BY m.group_id, m.seq',
    $$VALUES
        ('g' COLLATE "C", 0::bigint, 'a'), ('g', 1, 'b'), ('g', 2, 'd'), ('g', 3, 'i'),
        ('h', 0, 'c'), ('h', 1, 'e'), ('h', 2, 'f'), ('h', 3, 'g'), ('h', 4, 'h')$$,
    'they follow each other from the head'
);
SELECT results_eq(
    'SELECT group_id, tail - head FROM transport_groups ORDER BY group_id',
    $$VALUES ('g' COLLATE "C", 3::bigint), ('h', 4)$$, 'to the tail'
);

SELECT * FROM finish();
