SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_commit(
        'e', 'd', '{}', 0, p_timer_actions => '{schedule,cancel,cancel,schedule,schedule,schedule,schedule,cancel,schedule}',
        p_timer_paths => '{a,a,b,b,c,c,d,d,d}', p_timer_fire_ats => '{1,0,0,2,3,4,5,0,6}'
    );
END
$$;

SELECT results_eq(
    'SELECT path, fire_at FROM harel_due_timers(10)',
    $$VALUES ('b', 2::double precision), ('c', 4::double precision), ('d', 6::double precision)$$,
    'scheduled then cancelled is off, cancelled then scheduled is on, and the last of two times counts'
);

SELECT * FROM finish();
