SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_join_shards('{east,north,south}', 'north');
    PERFORM harel_commit_cas(id, 'd', '{}', 0)
    FROM unnest('{a,b,f,h,k,n,p,s,y,z}'::text[]) AS i (id) WHERE harel_shard_of(id) = 'north';
    PERFORM harel_commit(id, 'd', '{}', 1, p_emit_targets => '{b,a,c,e,g,x,NULL,e}', p_emit_events => '{1,2,3,4,5,6,7,8}')
    FROM executions ORDER BY id LIMIT 2;
END
$$;
SELECT is(
    ARRAY(SELECT seq FROM harel_foreign_outbox('south')),
    ARRAY(SELECT seq FROM outbox WHERE shard = 'south' ORDER BY seq), 'those of that shard'
);
SELECT is(
    ARRAY(SELECT seq FROM harel_foreign_outbox('south', 3)),
    ARRAY(SELECT seq FROM outbox WHERE shard = 'south' ORDER BY seq LIMIT 3), 'the oldest first'
);
SELECT is(
    ARRAY(SELECT DISTINCT target_id FROM harel_foreign_outbox('south', NULL, '{e}') ORDER BY 1),
    ARRAY(
        SELECT DISTINCT target_id FROM outbox WHERE shard = 'south' AND target_id <> 'e' ORDER BY 1
    ), 'without those that are not wanted'
);
SELECT is_empty($$SELECT * FROM harel_foreign_outbox('north')$$, 'its own are not among them');
SELECT throws_ok($$SELECT * FROM harel_foreign_outbox('south', -1)$$, 'ST008', NULL, 'a limit is none below 0');

SELECT * FROM finish();
