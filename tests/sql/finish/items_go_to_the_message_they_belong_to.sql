SELECT plan(7);

DO $$
BEGIN
    PERFORM harel_commit_cas(e, 'd', '{}', 0) FROM unnest('{a,b,c,d}'::text[]) e;
    PERFORM harel_publish(e, 'ev', p_now => 100) FROM unnest('{a,b,c,d}'::text[]) e;
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, 10, p_now => 100);
CREATE TEMP TABLE answer AS SELECT row_number() OVER () AS place, f.* FROM harel_finish(
    '{d,c,b,a}', (SELECT array_agg(token) FROM lease), '{d,d,d,d}', '{1,1,NULL,1}', '{1,7,1,1}', '{ev1,ev2,NULL,ev4}',
    '{1,2,4,4}', '{x,x,x,NULL}', '{d to x,c to x,a to x,a to all}',
    '{1,2,4}', '{d/k,c/k,a/k}', '{r,r,r}', '{1,2,3}',
    '{1,1,2,4}', '{schedule,schedule,schedule,schedule}', '{t,u,t,t}', '{1,2,3,4}',
    '{d,c,NULL,a}', p_now => 101
) f;
-- On several nodes the relay moves what is sent.
DO $$ BEGIN PERFORM harel_relay_spawns(p_now => 101), harel_relay(p_now => 101) WHERE harel__is_distributed(); END $$;

SELECT is(
    ARRAY(SELECT group_id || ' ' || result FROM answer ORDER BY place), '{d finished,c conflict,b finished,a finished}',
    'of four the second loses'
);
SELECT is(
    ARRAY(SELECT event FROM transport_messages WHERE group_id = 'x' ORDER BY seq), '{a to x,d to x}',
    'the events of the others go'
);
SELECT is(
    ARRAY(SELECT event FROM outbox WHERE seq = ANY ((SELECT outbox_seqs FROM answer WHERE group_id = 'a')::bigint[])),
    '{a to all}', 'the broadcast is told to its sender'
);
SELECT is(
    ARRAY(SELECT id || parent_id || (data::jsonb ->> 'context') FROM executions WHERE id ~ '/' ORDER BY id),
    '{a/ka3,d/kd1}',
    'their children are created'
);
SELECT is(
    ARRAY(SELECT execution_id || path || fire_at FROM timers ORDER BY fire_at), '{dt1,du2,at4}', 'their timers armed'
);
SELECT is(ARRAY(SELECT execution_id || entry FROM trace ORDER BY execution_id), '{aa,dd}', 'their steps traced');
SELECT is(
    ARRAY(SELECT execution_id || event_id FROM processed_events ORDER BY execution_id), '{aev4,dev1}',
    'their events marked'
);

SELECT * FROM finish();
