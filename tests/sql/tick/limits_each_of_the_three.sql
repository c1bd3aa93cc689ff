SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit(
        'e', 'd', '{}', 0, NULL, '{x,x,x}', '{x1,x2,x3}', '{a,b,c}', '{r,r,r}', '{1,1,1}',
        '{schedule,schedule,schedule}',
        '{p,q,r}', '{1,2,3}'
    );
END
$$;

SELECT results_eq(
    'SELECT * FROM harel_tick(2, 100)', 'VALUES (2, 2, 2, 3::float8)', 'two of each, and a timer is overdue'
);
SELECT results_eq('SELECT * FROM harel_tick(0, 100)', 'VALUES (0, 0, 0, 3::float8)', 'none');
SELECT results_eq('SELECT * FROM harel_tick(NULL, 100)', 'VALUES (1, 1, 1, NULL::float8)', 'then all the others');

SELECT * FROM finish();
