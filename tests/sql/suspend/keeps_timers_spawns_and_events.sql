SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{}', 0, 'ev', '{x}', '{x1}', '{c}', '{r}', '{1}', '{schedule}', '{p}', '{100}',
    'step');
    PERFORM harel_suspend('e');
END
$$;

SELECT is(
    ARRAY[
        (SELECT count(*) FROM outbox), (SELECT count(*) FROM spawns), (SELECT count(*) FROM timers),
        (SELECT count(*) FROM trace), (SELECT count(*) FROM processed_events)
    ], '{1,1,1,1,1}', 'all of them stay'
);

SELECT * FROM finish();
