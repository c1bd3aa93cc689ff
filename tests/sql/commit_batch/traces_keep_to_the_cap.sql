SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_batch(
        '{a,b}', '{d,d}', '{1,1}', ARRAY[n, n], p_traces => ARRAY['a' || n, 'b' || n], p_trace_max => 2
    ) FROM generate_series(0, 3) n;
END
$$;

SELECT is(ARRAY(SELECT idx || entry FROM harel_read_trace('a')), '{2a2,3a3}', 'of each execution');
SELECT is(ARRAY(SELECT idx || entry FROM harel_read_trace('b')), '{2b2,3b3}', 'by itself');

SELECT * FROM finish();
