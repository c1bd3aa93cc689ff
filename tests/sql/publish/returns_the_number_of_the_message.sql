SELECT plan(4);

SELECT ok(
    abs(harel_publish('g', 'a') - extract(epoch FROM clock_timestamp()) * 1000000) < 60000000,
    'the first of a group has the time in microseconds'
);
SELECT is(harel_publish('g', 'b'), (SELECT head + 1 FROM transport_groups), 'the second is the next');
SELECT is(harel_publish('g', 'c'), (SELECT head + 2 FROM transport_groups), 'and so is the third');
SELECT results_eq(
    'SELECT m.seq - g.head, m.event FROM transport_messages m JOIN transport_groups g USING (group_id) ORDER BY m.seq',
    $$VALUES (0::bigint, 'a'), (1, 'b'), (2, 'c')$$, 'these are the numbers stored'
);

SELECT * FROM finish();
