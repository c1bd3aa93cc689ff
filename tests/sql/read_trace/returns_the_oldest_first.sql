SELECT plan(1);

DO $$
BEGIN
    INSERT INTO trace VALUES ('e', 10, 'k'), ('e', 9, 'j'), ('e', 100, 'z'), ('f', 0, 'other'), ('E', 1, 'other');
END
$$;

SELECT results_eq(
    $$SELECT idx, entry FROM harel_read_trace('e')$$, $$VALUES (9, 'j'), (10, 'k'), (100, 'z')$$,
    'by number, with the numbers they were given'
);

SELECT * FROM finish();
