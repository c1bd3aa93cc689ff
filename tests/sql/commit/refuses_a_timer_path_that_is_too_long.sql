SELECT plan(4);

SELECT throws_ok(
    $$SELECT harel_commit(
        'e', 'd', '{}', 0, p_timer_actions => '{schedule}', p_timer_paths => ARRAY[repeat('x', 1001)], p_timer_fire_ats => '{1}'
    )$$, 'ST001', NULL, '1001 bytes'
);
SELECT throws_ok(
    $$SELECT harel_commit(
        'e', 'd', '{}', 0, p_timer_actions => '{cancel}', p_timer_paths => ARRAY[repeat('x', 1001)], p_timer_fire_ats => '{1}'
    )$$, 'ST001', NULL, '1001 bytes to cancel'
);
SELECT lives_ok(
    $$SELECT harel_commit(
        repeat('i', 1000), 'd', '{}', 0, p_timer_actions => '{schedule,schedule}',
        p_timer_paths => ARRAY[repeat('x', 1000), ''], p_timer_fire_ats => '{1,1}'
    )$$, '1000 bytes are taken, and the empty path of the root'
);
SELECT is((SELECT count(*) FROM timers), 2::bigint, 'and armed');

SELECT * FROM finish();
