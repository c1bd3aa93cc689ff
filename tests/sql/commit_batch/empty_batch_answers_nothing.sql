SELECT plan(3);

SELECT is_empty($$SELECT * FROM harel_commit_batch('{}', '{}', '{}', '{}')$$, 'of empty arrays');
SELECT is_empty($$SELECT * FROM harel_commit_batch(NULL, NULL, NULL, NULL)$$, 'of NULL arrays');
SELECT is_empty(
    $$SELECT * FROM harel_commit_batch('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', 5)$$,
    'of empty lists too'
);

SELECT * FROM finish();
