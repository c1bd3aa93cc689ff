SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas(e, 'd', '{}', 0) FROM unnest('{a,b}'::text[]) e;
    PERFORM harel_publish(e, 'to ' || e, p_now => 100) FROM unnest('{a,b}'::text[]) e;
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, 2, p_now => 100);
CREATE TEMP TABLE answer AS SELECT * FROM harel_finish(
    '{b,a}', (SELECT array_agg(token) FROM lease), '{d,d}', '{1,1}', '{1,1}',
    p_emit_commits => '{1,2}', p_emit_targets => '{a,b}', p_emit_events => '{b to a,a to b}', p_now => 101
);
-- On several nodes the relay moves what is sent.
DO $$ BEGIN PERFORM harel_relay_spawns(p_now => 101), harel_relay(p_now => 101) WHERE harel__is_distributed(); END $$;

SELECT is(ARRAY(SELECT result FROM answer), '{finished,finished}', 'both are finished');
SELECT is(
    ARRAY(SELECT group_id || ': ' || event FROM transport_messages ORDER BY group_id), '{a: b to a,b: a to b}',
    'and each has the event of the other'
);

SELECT * FROM finish();
