SELECT plan(7);

DO $$
BEGIN
    PERFORM harel_join_shards('{north,south}', 'north');
END
$$;
PREPARE receive AS SELECT harel_receive_spawns(
    'south', '{3,4}', '{e,e}', '{a,b}', '{/r,/s}', '{1,2}', '{d,d}', '{2,0}', '{RUNNING,SUSPENDED}'
);
CREATE TEMP TABLE first AS EXECUTE receive;
SELECT is((SELECT harel_receive_spawns FROM first), '{3,4}', 'both are to be settled');
SELECT is(
    ARRAY(SELECT concat_ws(' ', id, definition_id, status, parent_id, priority, version) FROM executions ORDER BY id),
    '{a d PENDING e 2 1,b d SUSPENDED e 0 2}', 'they are as their parent is'
);
SELECT is(
    (SELECT data::jsonb FROM executions WHERE id = 'a'),
    '{"id": "a", "definition_id": "d", "root_path": "/r", "status": "PENDING", "context": 1, "parent_id": "e",
      "child_id": "a", "priority": 2, "version": 1}', 'and what they were asked to be'
);
SELECT is(
    ARRAY(SELECT concat_ws(' ', group_id, event::jsonb ->> 'kind') FROM transport_messages ORDER BY 1),
    '{a Start,b Start}', 'they are started'
);
DO $$
BEGIN
    PERFORM harel_cancel('a');
    PERFORM harel_purge('a', 2);
END
$$;
CREATE TEMP TABLE second AS EXECUTE receive;
SELECT is((SELECT harel_receive_spawns FROM second), '{3,4}', 'handed in once more they are to be settled once more');
SELECT is(ARRAY(SELECT id FROM executions), '{b}', 'and one that has come and gone is not created again');
SELECT is(ARRAY(SELECT group_id FROM transport_messages), '{b}', 'nor started');

SELECT * FROM finish();
