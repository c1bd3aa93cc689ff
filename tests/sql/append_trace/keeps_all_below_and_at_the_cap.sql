SELECT plan(5);

SELECT is(harel_append_trace('e', 'a', 3), 0, 'one of three');
SELECT is(harel_append_trace('e', 'b', 3), 1, 'two of three');
SELECT is(ARRAY(SELECT idx || entry FROM harel_read_trace('e')), '{0a,1b}', 'stay');
SELECT is(harel_append_trace('e', 'c', 3), 2, 'three of three');
SELECT is(ARRAY(SELECT idx || entry FROM harel_read_trace('e')), '{0a,1b,2c}', 'stay too');

SELECT * FROM finish();
