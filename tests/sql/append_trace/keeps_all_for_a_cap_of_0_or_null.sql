SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_append_trace('e', 'e' || n, 0) FROM generate_series(0, 9) n;
    PERFORM harel_append_trace('e', 'e' || n, NULL) FROM generate_series(10, 19) n;
    PERFORM harel_append_trace('e', 'e' || n) FROM generate_series(20, 29) n;
END
$$;

SELECT is((SELECT count(*) FROM harel_read_trace('e')), 30::bigint, 'and where none is given');

SELECT * FROM finish();
