SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
    PERFORM harel_publish('e', 'ev', p_now => 100);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);
CREATE TEMP TABLE answer AS SELECT * FROM harel_finish(
    '{e}', (SELECT array_agg(token) FROM lease), '{d}', '{1}', '{1}',
    p_emit_commits => '{1,1,1}', p_emit_targets => '{NULL,x,NULL}', p_emit_events => '{all1,x1,all2}', p_now => 101
);

SELECT results_eq(
    'SELECT seq, target_id, event, source_id FROM harel_pending_outbox()',
    $$SELECT s.seq, NULL, 'all' || s.n, 'e' FROM answer, unnest(outbox_seqs) WITH ORDINALITY AS s (seq, n)$$,
    'they are there with the seqs returned, in their order'
);
SELECT is((SELECT cardinality(outbox_seqs) FROM answer), 2, 'both of them');
SELECT is((SELECT array_agg(event) FROM transport_messages), '{x1}', 'and the one with a target is not');

SELECT * FROM finish();
