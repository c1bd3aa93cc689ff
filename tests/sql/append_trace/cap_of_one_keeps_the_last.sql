SELECT plan(1);

DO $$ BEGIN PERFORM harel_append_trace('e', 'e' || n, 1) FROM generate_series(0, 3) n; END $$;

SELECT is(ARRAY(SELECT idx || entry FROM harel_read_trace('e')), '{3e3}', 'with its number');

SELECT * FROM finish();
