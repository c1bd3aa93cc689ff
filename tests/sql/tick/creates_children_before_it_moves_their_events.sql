SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit(
        'e', 'd', '{"priority": 3}', 0, NULL, '{c}', '{hello}', '{c}', '{r}', '{1}', '{schedule}', '{p}', '{1}'
    );
    PERFORM harel_tick(p_now => 100);
END
$$;

SELECT is(
    ARRAY(
        SELECT CASE WHEN event ~ 'Start' THEN 'Start' ELSE event END
        FROM transport_messages WHERE group_id = 'c' ORDER BY seq
    ), '{Start,hello}', 'a child starts before it hears from its parent'
);
SELECT is((SELECT priority::integer FROM transport_groups WHERE group_id = 'c'), 3, 'at the priority of both');

SELECT * FROM finish();
