SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_commit(
        'e', 'd', '{}', 0, NULL, '{x,x,NULL}', '{x1,x2,all}', '{c}', '{r}', '{1}', '{schedule,schedule,schedule}',
        '{p,q,r}',
        '{1,2,3}'
    );
END
$$;

SELECT results_eq(
    'SELECT * FROM harel_tick(p_now => 100)', 'VALUES (1, 2, 3, NULL::float8)',
    'one child, two events and three timers, and nothing is due later'
);
SELECT is(
    ARRAY(SELECT concat_ws(' ', group_id, count(*)) FROM transport_messages GROUP BY group_id ORDER BY group_id),
    '{c 1,e 3,x 2}',
    'all are in the queue'
);
SELECT is(
    ARRAY(SELECT concat_ws(' ', group_id, available_at) FROM transport_groups ORDER BY group_id), '{c 100,e 100,x 100}',
    'and can be claimed'
);
SELECT is(ARRAY(SELECT event FROM outbox), '{all}', 'the broadcast stays');
SELECT results_eq(
    'SELECT * FROM harel_tick(p_now => 101)', 'VALUES (0, 0, 0, NULL::float8)', 'and then there is nothing to do'
);

SELECT * FROM finish();
