SELECT plan(9);

SELECT is(harel_reset_sequences(), 0, 'in an empty store both are right');
INSERT INTO outbox (seq, event) VALUES (1, 'replicated');
INSERT INTO spawns (seq, parent_id, child_id, root_path, context) VALUES (7, 'p', 'c', '', '{}');
SELECT is(harel_reset_sequences(), 2, 'both are behind rows that came with their numbers');
SELECT is(nextval('outbox_seq_seq'), 2::bigint, 'the next one of the outbox is free');
SELECT is(nextval('spawns_seq_seq'), 8::bigint, 'and of the spawns');
SELECT is(harel_reset_sequences(), 0, 'then there is nothing to move');
INSERT INTO outbox (seq, event) VALUES (9, 'replicated');
SELECT is(harel_reset_sequences(), 1, 'one that is behind again is moved alone');
DO $$ BEGIN PERFORM setval('outbox_seq_seq', 1000), setval('spawns_seq_seq', 1000); END $$;
SELECT is(harel_reset_sequences(), 0, 'what is ahead stays');
SELECT is(nextval('outbox_seq_seq'), 1001::bigint, 'where it was');
SELECT is(
    (SELECT outbox_seqs FROM harel_commit('e', 'd', '{}', 0, NULL, '{x}', '{a}')), '{1002}', 'and commits go on'
);

SELECT * FROM finish();
