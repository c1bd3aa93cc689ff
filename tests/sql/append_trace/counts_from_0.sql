SELECT plan(5);

SELECT is(harel_append_trace('e', 'a'), 0, 'the first entry has number 0');
SELECT is(harel_append_trace('e', 'b'), 1, 'the second 1');
SELECT is(harel_append_trace('f', 'c'), 0, 'another execution counts by itself');
SELECT is(harel_append_trace('e', 'd'), 2, 'and does not disturb');
SELECT results_eq(
    $$SELECT * FROM harel_read_trace('e')$$, $$VALUES (0, 'a'), (1, 'b'), (2, 'd')$$, 'all are read with their numbers'
);

SELECT * FROM finish();
