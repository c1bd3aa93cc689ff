SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_append_trace('e', 'e' || n, 3) FROM generate_series(0, 4) n;
    PERFORM harel_append_trace('f', 'f' || n, 3) FROM generate_series(0, 1) n;
END
$$;

SELECT is(ARRAY(SELECT idx || entry FROM harel_read_trace('e')), '{2e2,3e3,4e4}', 'the last three stay, with their numbers');
SELECT is(ARRAY(SELECT idx || entry FROM harel_read_trace('f')), '{0f0,1f1}', 'another execution is not touched');
SELECT is(harel_append_trace('e', 'e5', 3), 5, 'and the count goes on');
SELECT is((SELECT count(*) FROM trace WHERE execution_id = 'e'), 3::bigint, 'with no more rows than the cap');

SELECT * FROM finish();
