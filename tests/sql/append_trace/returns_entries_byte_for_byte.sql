SELECT plan(1);

CREATE TEMP TABLE sample (n integer, entry text);
INSERT INTO sample VALUES (0, E' {"b": 1,\n"a": "\\u0000"} '), (1, ''), (2, 'not JSON'), (3, '{"x": 1e999999}'), (4, repeat('é', 100000));
DO $$ BEGIN PERFORM harel_append_trace('e', entry) FROM (SELECT entry FROM sample ORDER BY n) s; END $$;

SELECT is(ARRAY(SELECT entry FROM harel_read_trace('e')), ARRAY(SELECT entry FROM sample ORDER BY n), 'whatever they hold');

SELECT * FROM finish();
