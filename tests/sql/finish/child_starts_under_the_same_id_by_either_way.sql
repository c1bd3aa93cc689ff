SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit('p', 'd',
    '{}', 0, p_spawn_children => '{c}', p_spawn_root_paths => '{r}', p_spawn_contexts => '{1}');
    PERFORM harel_relay_spawns(p_now => 100);
END
$$;
CREATE TEMP TABLE relayed AS SELECT e.data, m.event FROM executions e JOIN transport_messages m ON m.group_id = e.id;
DO $$
BEGIN
    PERFORM harel_purge('c', 1);
    PERFORM harel_publish('p', 'ev', p_now => 100);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);
CREATE TEMP TABLE answer AS SELECT * FROM harel_finish(
    '{p}', (SELECT array_agg(token) FROM lease), '{d}', '{1}', '{1}',
    p_spawn_commits => '{1}', p_spawn_children => '{c}', p_spawn_root_paths => '{r}', p_spawn_contexts => '{1}',
    p_now => 101
);
-- On several nodes the relay moves what is sent.
DO $$ BEGIN PERFORM harel_relay_spawns(p_now => 101), harel_relay(p_now => 101) WHERE harel__is_distributed(); END $$;

SELECT is(
    (SELECT data FROM executions WHERE id = 'c'), (SELECT data FROM relayed), 'the child is the same as of a relay'
);
SELECT is((SELECT event FROM transport_messages), (SELECT event FROM relayed), 'and so is its event');

SELECT * FROM finish();
