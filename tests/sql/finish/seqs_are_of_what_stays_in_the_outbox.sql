SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas(e, 'd', '{}', 0) FROM unnest('{a,b}'::text[]) e;
    PERFORM harel_publish(e, 'ev', p_now => 100) FROM unnest('{a,b}'::text[]) e;
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, 2, p_now => 100);
CREATE TEMP TABLE answer AS SELECT * FROM harel_finish(
    '{b,a}', (SELECT array_agg(token) FROM lease), '{d,d}', '{1,1}', '{1,1}',
    p_emit_commits => '{1,2,2,2}', p_emit_targets => '{x,NULL,x,NULL}', p_emit_events => '{x1,all1,x2,all2}',
    p_now => 101
);

SELECT is((SELECT outbox_seqs FROM answer WHERE group_id = 'b'), '{}', 'an event with a target has none');
SELECT is((SELECT cardinality(outbox_seqs) FROM answer WHERE group_id = 'a'), 2, 'broadcasts have');
SELECT results_eq(
    'SELECT seq, event FROM harel_pending_outbox()',
    $$SELECT s.seq, 'all' || s.n FROM answer, unnest(outbox_seqs) WITH ORDINALITY AS s (seq, n)$$, 'in their order'
);

SELECT * FROM finish();
