SELECT plan(6);

DO $$
BEGIN
    PERFORM harel_join_shards('{north,south}', 'north');
    PERFORM harel_commit_cas('a', 'd', '{}', 0);
    PERFORM harel_commit_cas('b', 'd', '{}', 0);
    PERFORM harel_publish('a', '{}'), harel_publish('b', '{}');
END
$$;
CREATE TEMP TABLE leases AS SELECT * FROM harel_next('w', 30, 2);
CREATE TEMP TABLE results AS
SELECT r.* FROM harel_finish(
    '{a,b}', ARRAY[(SELECT token FROM leases LIMIT 1), (SELECT token FROM leases LIMIT 1)], '{d,d}', '{"{}","{}"}',
    '{1,1}', NULL,
    '{1,1,1,2}', '{h,e,NULL,e}', '{1,2,3,4}',
    '{1,1,2}', '{f,g,c}', '{r,r,s}', '{1,2,3}'
) r;

SELECT is(ARRAY(SELECT result FROM results), '{finished,finished}', 'the steps are finished');
SELECT is(
    ARRAY(SELECT concat_ws(' ', source_id, event, shard) FROM outbox ORDER BY seq), '{a 2 south,a 3,b 4 south}',
    'events for others stay in the outbox'
);
SELECT is(
    ARRAY(SELECT unnest(outbox_seqs) FROM results ORDER BY 1), ARRAY(SELECT seq FROM outbox ORDER BY 1),
    'whose seqs are returned'
);
SELECT is(
    ARRAY(SELECT concat_ws(' ', parent_id, child_id, root_path, context, shard) FROM spawns ORDER BY seq),
    '{a g r 2 south,b c s 3 south}', 'children for others in the spawns'
);
SELECT is(ARRAY(SELECT group_id FROM transport_messages ORDER BY 1), '{f,h}', 'its own are in the queue');
SELECT is(ARRAY(SELECT id FROM executions ORDER BY 1), '{a,b,f}', 'and its child exists');

SELECT * FROM finish();
