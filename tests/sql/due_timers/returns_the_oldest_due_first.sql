SELECT plan(2);

INSERT INTO timers VALUES ('b', 'b', 2), ('b', 'B', 2), ('a', 'z', 2), ('B', 'z', 2), ('z', 'z', 1), ('a', 'a', 3);

SELECT results_eq(
    'SELECT execution_id, path, fire_at FROM harel_due_timers(5)',
    $$VALUES
        ('z', 'z', 1::double precision), ('B', 'z', 2), ('a', 'z', 2), ('b', 'B', 2), ('b', 'b', 2), ('a', 'a', 3)$$,
    'those of one time in the order of their keys'
);
SET LOCAL plan_cache_mode = force_custom_plan;
SET LOCAL enable_indexscan = off;
SET LOCAL enable_indexonlyscan = off;
SET LOCAL enable_bitmapscan = off;
SELECT is(
    ARRAY(SELECT execution_id || path FROM harel_due_timers(5)), '{zz,Bz,az,bB,bb,aa}', 'and not only where an index has it'
);

SELECT * FROM finish();
