SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit(
        'e', 'd', '{}', 0, p_timer_actions => '{schedule,schedule,schedule}', p_timer_paths => '{a,b,c}',
        p_timer_fire_ats => ARRAY[1764430000.1234567, 0.1::double precision + 0.2::double precision, -1.7976931348623157e308]
    );
END
$$;

SELECT is((SELECT fire_at FROM timers WHERE path = 'a'), 1764430000.1234567::double precision, 'of a time of today');
SELECT is((SELECT fire_at FROM timers WHERE path = 'b'), 0.30000000000000004::double precision, 'to the last digit');
SELECT is((SELECT fire_at FROM timers WHERE path = 'c'), -1.7976931348623157e308::double precision, 'and the least of all');

SELECT * FROM finish();
