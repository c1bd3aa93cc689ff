SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
    PERFORM harel_append_trace('e', 's' || n) FROM generate_series(1, 3) n;
    PERFORM harel_publish('e', 'ev', p_now => 100);
    PERFORM harel_publish('f', 'ev', p_now => 100);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_claim('w', 30, 2, p_now => 100);
CREATE TEMP TABLE answer AS SELECT * FROM harel_finish(
    '{e,f}', (SELECT array_agg(token) FROM lease), '{d,d}', '{1,1}',
    '{1,0}', p_traces => '{s4,first}', p_trace_max => 2,
    p_now => 101
);

SELECT results_eq(
    $$SELECT * FROM harel_read_trace('e')$$, $$VALUES (2, 's3'), (3, 's4')$$, 'the last two entries stay'
);
SELECT results_eq(
    $$SELECT * FROM harel_read_trace('f')$$, $$VALUES (0, 'first')$$, 'another execution counts for itself'
);

SELECT * FROM finish();
