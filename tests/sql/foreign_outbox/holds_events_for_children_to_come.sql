SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_join_shards('{north,south}', 'north');
    PERFORM harel_commit(
        'a', 'd', '{}', 0, p_emit_targets => '{g,e}', p_emit_events => '{1,2}',
        p_spawn_children => '{g}', p_spawn_root_paths => '{r}', p_spawn_contexts => '{1}'
    );
END
$$;
SELECT is(ARRAY(SELECT event FROM harel_foreign_outbox('south')), '{2}', 'an event for it is held, others are not');
SELECT is(harel_settle_spawns(ARRAY(SELECT seq FROM harel_foreign_spawns('south'))), 1, 'once it is there');
SELECT is(ARRAY(SELECT event FROM harel_foreign_outbox('south')), '{1,2}', 'its event may follow');

SELECT * FROM finish();
