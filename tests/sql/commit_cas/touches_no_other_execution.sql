SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas('a', 'd', '{"n": 1}', 0);
    PERFORM harel_commit_cas('A', 'd', '{"n": 2}', 0);
    PERFORM harel_commit_cas('a ', 'd', '{"n": 3}', 0);
END
$$;

SELECT is(harel_commit_cas('a', 'd', '{"n": 4}', 1, 'ev'), true, 'one execution commits');
SELECT results_eq(
    'SELECT harel_load(i) FROM unnest(ARRAY[''a'', ''A'', ''a '']) i',
    $$VALUES ('{"n": 4}'), ('{"n": 2}'), ('{"n": 3}')$$,
    'those with an id of another case or with a blank keep their data'
);
SELECT is(harel_is_processed('A', 'ev'), false, 'and the event is not theirs');

SELECT * FROM finish();
