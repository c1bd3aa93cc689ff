SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit(
        id, 'd', '{}', 0, p_timer_actions => '{schedule,schedule}', p_timer_paths => '{p,q}', p_timer_fire_ats => fire_ats
    )
    FROM (VALUES ('a', '{30,1e15}'::float8[]), ('b', '{20,10}')) v (id, fire_ats);
END
$$;
SELECT results_eq(
    $$SELECT execution_id, path, fire_at FROM harel_timers()$$,
    $$VALUES ('b', 'q', 10::float8), ('b', 'p', 20), ('a', 'p', 30), ('a', 'q', 1e15)$$,
    'due or not'
);
SELECT results_eq($$SELECT path FROM harel_timers('b')$$, $$VALUES ('q'), ('p')$$, 'of one execution');
SELECT results_eq($$SELECT path FROM harel_timers(p_limit => 1)$$, $$VALUES ('q')$$, 'no more than asked for');
SELECT is_empty($$SELECT * FROM harel_timers('unknown')$$, 'of nobody');

SELECT * FROM finish();
