SELECT plan(3);

SELECT is_empty($$SELECT * FROM harel_finish('{}', '{}', '{}', '{}', '{}')$$, 'of empty arrays');
SELECT is_empty('SELECT * FROM harel_finish(NULL, NULL, NULL, NULL, NULL)', 'of NULL arrays');
SELECT is_empty(
    $$SELECT * FROM harel_finish(
        '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', 5
    )$$, 'of empty lists too'
);

SELECT * FROM finish();
