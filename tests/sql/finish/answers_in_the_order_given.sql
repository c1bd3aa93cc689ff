SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas(e, 'd', '{}', 0) FROM unnest('{a,b,c}'::text[]) e;
    PERFORM harel_publish(e, 'ev', p_now => 100) FROM unnest('{a,b,c}'::text[]) e;
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, 10, p_now => 100);
CREATE TEMP TABLE answer AS
SELECT row_number() OVER () AS place, f.*
FROM harel_finish(
    '{c,a,b}', (SELECT array_agg(token) FROM lease), '{d,d,d}', '{3,1,2}', '{1,1,1}',
    p_emit_commits => '{1,3,3}', p_emit_targets => '{NULL,NULL,NULL}', p_emit_events => '{c1,b1,b2}', p_now => 101
) f;

SELECT is(
    ARRAY(SELECT concat_ws(' ', group_id, result, stored_version) FROM answer ORDER BY place),
    '{c finished 2,a finished 2,b finished 2}', 'one row for each message'
);
SELECT is(
    ARRAY(
        SELECT a.group_id || ' ' || o.event
        FROM answer a
        CROSS JOIN unnest(a.outbox_seqs) WITH ORDINALITY AS s (seq, n)
        JOIN outbox o USING (seq)
        ORDER BY a.place, s.n
    ),
    '{c c1,b b1,b b2}', 'with the seqs of its own broadcasts, in their order'
);
SELECT is(ARRAY(SELECT id || data FROM executions ORDER BY id), '{a1,b2,c3}', 'each has its data');

SELECT * FROM finish();
