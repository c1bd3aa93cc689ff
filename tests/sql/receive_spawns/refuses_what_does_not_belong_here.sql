SELECT plan(7);

DO $$
BEGIN
    PERFORM harel_join_shards('{north,south}', 'north');
END
$$;
CREATE FUNCTION pg_temp.receive(p_from text, p_parent text, p_child text, p_path text, p_context text) RETURNS bigint[]
LANGUAGE sql
AS $$
    SELECT harel_receive_spawns(
        p_from, '{1}', ARRAY[p_parent], ARRAY[p_child], ARRAY[p_path], ARRAY[p_context], '{d}', '{0}', '{RUNNING}'
    )
$$;
SELECT throws_ok($$SELECT pg_temp.receive('west', 'e', 'a', 'r', '1')$$, 'ST016', NULL, 'from a stranger');
SELECT throws_ok($$SELECT pg_temp.receive('south', 'e', 'c', 'r', '1')$$, 'ST018', NULL, 'of another shard');
SELECT throws_ok($$SELECT pg_temp.receive('south', NULL, 'a', 'r', '1')$$, 'ST001', NULL, 'without a parent');
SELECT throws_ok($$SELECT pg_temp.receive('south', 'e', '', 'r', '1')$$, 'ST001', NULL, 'without an id');
SELECT throws_ok($$SELECT pg_temp.receive('south', 'e', 'a', NULL, '1')$$, 'ST004', NULL, 'without a path');
SELECT throws_ok($$SELECT pg_temp.receive('south', 'e', 'a', 'r', '[')$$, 'ST003', NULL, 'of no JSON');
SELECT is_empty('SELECT * FROM executions', 'and nothing was created');

SELECT * FROM finish();
