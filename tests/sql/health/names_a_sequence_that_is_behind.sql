SELECT plan(1);

INSERT INTO outbox (seq, target_id, event) VALUES (100000, 'x', 'e');
SELECT ok(
    (SELECT detail ~ 'outbox_seq_seq' AND remedy ~ 'reset_sequences' FROM harel_health() WHERE problem ~ 'sequence'),
    'the outbox holds what the sequence has not given yet'
);

SELECT * FROM finish();
