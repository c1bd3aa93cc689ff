SELECT plan(4);

DO $$ BEGIN PERFORM harel_append_trace('e', 'e' || n, 10) FROM generate_series(0, 9) n; END $$;

SELECT is(harel_append_trace('e', 'e10', 3), 10, 'an entry with a lower cap');
SELECT is(ARRAY(SELECT idx || entry FROM harel_read_trace('e')), '{8e8,9e9,10e10}', 'leaves as many as the lower cap');
SELECT is(harel_append_trace('e', 'e11', 5), 11, 'an entry with a higher cap');
SELECT is(ARRAY(SELECT idx FROM harel_read_trace('e')), '{8,9,10,11}', 'brings none back');

SELECT * FROM finish();
