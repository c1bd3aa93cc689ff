SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{}', n, p_trace => 's' || n, p_trace_max => CASE WHEN n % 2 = 0 THEN 0 END)
    FROM generate_series(0, 4) n;
END
$$;

SELECT is(ARRAY(SELECT idx || entry FROM harel_read_trace('e')), '{0s0,1s1,2s2,3s3,4s4}', 'for 0 and NULL');

SELECT * FROM finish();
