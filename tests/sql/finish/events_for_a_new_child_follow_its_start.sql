SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_commit_cas('p', 'd', '{}', 0);
    PERFORM harel_publish('p', 'ev', p_now => 100);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);
CREATE TEMP TABLE answer AS SELECT * FROM harel_finish(
    '{p}', (SELECT array_agg(token) FROM lease), '{d}', '{1}', '{1}',
    p_emit_commits => '{1,1}', p_emit_targets => '{c,c}', p_emit_events => '{hello,again}',
    p_spawn_commits => '{1}', p_spawn_children => '{c}', p_spawn_root_paths => '{r}', p_spawn_contexts => '{1}',
    p_now => 101
);
-- On several nodes the relay moves what is sent.
DO $$ BEGIN PERFORM harel_relay_spawns(p_now => 101), harel_relay(p_now => 101) WHERE harel__is_distributed(); END $$;

SELECT is(
    ARRAY(SELECT CASE WHEN event ~ 'Start' THEN 'Start' ELSE event END FROM transport_messages ORDER BY seq),
    '{Start,hello,again}', 'the child starts before it hears from its parent'
);

SELECT * FROM finish();
