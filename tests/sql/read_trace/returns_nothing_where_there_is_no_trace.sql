SELECT plan(3);

DO $$ BEGIN PERFORM harel_append_trace('e', 'a'); END $$;

SELECT is_empty($$SELECT * FROM harel_read_trace('f')$$, 'for an unknown execution');
SELECT is_empty($$SELECT * FROM harel_read_trace('')$$, 'for an empty id');
SELECT is_empty('SELECT * FROM harel_read_trace(NULL)', 'for NULL');

SELECT * FROM finish();
