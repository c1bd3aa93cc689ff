SELECT plan(3);

SELECT is(
    (
        SELECT harel_publish_many(array_agg('g' || n % 1000), array_agg(n::text), array_agg(n % 5))
        FROM generate_series(1, 10000) n
    ),
    10000, 'in one call'
);
SELECT is((SELECT count(*) FROM transport_groups WHERE tail - head = 9), 1000::bigint, 'in all their groups');
SELECT is_empty(
    'SELECT FROM (
        SELECT event::integer - lag(event::integer) OVER (PARTITION BY group_id ORDER BY seq) AS step
        FROM transport_messages
    ) m WHERE step <> 1000', 'in order'
);

SELECT * FROM finish();
