SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{}', 0, NULL, ARRAY['z', NULL], '{1,2}');
    PERFORM harel_commit('f', 'd', '{}', 0, NULL, '{a}', '{3}');
END
$$;

SELECT results_eq(
    'SELECT target_id, event, source_id FROM harel_pending_outbox()',
    $$VALUES ('z', '1', 'e'), (NULL, '2', 'e'), ('a', '3', 'f')$$, 'in the order of the commits'
);
SELECT is(
    ARRAY(SELECT seq FROM harel_pending_outbox()), ARRAY(SELECT seq FROM outbox ORDER BY seq), 'with the seqs to ack them by'
);

SELECT * FROM finish();
