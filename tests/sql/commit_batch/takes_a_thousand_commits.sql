SELECT plan(3);

CREATE TEMP TABLE answer AS
SELECT row_number() OVER () AS place, b.* FROM harel_commit_batch(
    ARRAY(SELECT 'e' || n FROM generate_series(1, 1000) n),
    array_fill('d'::text, ARRAY[1000]), array_fill('{}'::text, ARRAY[1000]), array_fill(0::bigint, ARRAY[1000]),
    p_emit_commits => ARRAY(SELECT generate_series(1, 1000)),
    p_emit_targets => array_fill(NULL::text, ARRAY[1000]),
    p_emit_events => ARRAY(SELECT 'x' || n FROM generate_series(1, 1000) n)
) b;

SELECT is((SELECT count(*) FROM executions WHERE version = 1), 1000::bigint, 'all are stored');
SELECT is_empty('SELECT * FROM answer WHERE id <> ''e'' || place OR NOT committed', 'all are answered in order');
SELECT is_empty(
    $$SELECT * FROM answer a LEFT JOIN outbox o ON o.seq = a.outbox_seqs[1] AND o.source_id = a.id
    WHERE o.event IS DISTINCT FROM 'x' || a.place OR cardinality(a.outbox_seqs) <> 1$$, 'each with its own event'
);

SELECT * FROM finish();
