SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit(
        'p', 'd', '{"status": "RUNNING"}', 0, p_spawn_children => '{c}', p_spawn_root_paths => '{r}',
        p_spawn_contexts => '{1}', p_timer_actions => '{schedule}', p_timer_paths => '{t}', p_timer_fire_ats => '{1}'
    );
    PERFORM harel_publish('p', 'ev', p_now => 100);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);

SELECT is(harel_cancel_all(p_dry_run => true), 1, 'one would be cancelled');
SELECT is((SELECT count(*) FROM timers) + (SELECT count(*) FROM spawns), 2::bigint, 'timers and spawns stay');
SELECT is(
    (SELECT f.result FROM lease l, harel_finish('{p}', ARRAY[l.token], '{d}', '{1}', '{1}', p_now => 101) f),
    'finished',
    'and a step in progress is finished'
);

SELECT * FROM finish();
