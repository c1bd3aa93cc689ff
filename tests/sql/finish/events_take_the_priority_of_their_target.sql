SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"priority": 4}', 0);
    PERFORM harel_commit_cas('urgent', 'd', '{"priority": 3}', 0);
    PERFORM harel_commit_cas('plain', 'd', '{}', 0);
    PERFORM harel_commit_cas('waiting', 'd', '{"priority": 2}', 0);
    PERFORM harel_publish('waiting', 'w0', 1, 100);
    PERFORM harel_publish('e', 'ev', p_now => 99);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_claim('w', 30, p_now => 100);
CREATE TEMP TABLE answer AS SELECT * FROM harel_finish(
    '{e}', (SELECT array_agg(token) FROM lease), '{d}', '{1}', '{1}',
    p_emit_commits => '{1,1,1,1}', p_emit_targets => '{urgent,plain,unknown,waiting}', p_emit_events => '{a,b,c,d}',
    p_now => 101
);
-- On several nodes the relay moves what is sent.
DO $$ BEGIN PERFORM harel_relay_spawns(p_now => 101), harel_relay(p_now => 101) WHERE harel__is_distributed(); END $$;

SELECT is(
    ARRAY(SELECT group_id || priority FROM transport_groups ORDER BY group_id), '{plain0,unknown0,urgent3,waiting1}',
    'that of the execution, 0 where there is none, and that of the group where it has messages'
);

SELECT * FROM finish();
