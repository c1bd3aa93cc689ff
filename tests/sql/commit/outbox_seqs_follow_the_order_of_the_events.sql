SELECT plan(4);

CREATE TEMP TABLE answer AS
SELECT * FROM harel_commit(
    'e', 'd', '{}', 0, NULL, ARRAY['z', NULL, 'a', 'z', NULL, 'e'], ARRAY['1', '2', '3', '4', '5', '6']
);

SELECT is(cardinality((SELECT outbox_seqs FROM answer)), 6, 'there is a seq for each event');
SELECT is(
    (SELECT outbox_seqs FROM answer), ARRAY(SELECT seq FROM outbox ORDER BY seq), 'in the order of the outbox'
);
SELECT results_eq(
    $$SELECT o.target_id COLLATE "default", o.event
    FROM answer, unnest(outbox_seqs) WITH ORDINALITY AS a (seq, place) JOIN outbox o ON o.seq = a.seq ORDER BY a.place$$,
    $$VALUES ('z', '1'), (NULL, '2'), ('a', '3'), ('z', '4'), (NULL, '5'), ('e', '6')$$,
    'which is the order given, broadcasts among them'
);
SELECT is(ARRAY(SELECT DISTINCT source_id FROM outbox), '{e}', 'all are from the one who emitted them');

SELECT * FROM finish();
