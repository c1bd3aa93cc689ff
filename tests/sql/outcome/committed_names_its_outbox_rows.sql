SELECT plan(3);

DO $$ BEGIN PERFORM harel_commit('e', 'd', '{}', 0, p_emit_targets => '{a}', p_emit_events => '{x}'); END $$;
-- What follows is written by another transaction than what stands before.
SAVEPOINT before;
CREATE TEMPORARY TABLE made AS
SELECT outbox_seqs FROM harel_commit(
    'e', 'd', '{}', 1, p_emit_targets => '{a,NULL,b}', p_emit_events => '{x,y,z}',
    p_commit_id => '00000000-0000-0000-0000-000000000001'
);
DO $$ BEGIN PERFORM harel_commit('other', 'd', '{}', 0, p_emit_targets => '{a}', p_emit_events => '{x}'); END $$;

PREPARE outcome AS SELECT outcome, stored_version, outbox_seqs
FROM harel_outcome('e', 1, '00000000-0000-0000-0000-000000000001');

SELECT results_eq('outcome', 'SELECT ''committed'', 2, outbox_seqs FROM made', 'it committed, with these events');
DO $$ BEGIN PERFORM harel_ack_outbox((SELECT outbox_seqs[2] FROM made)); END $$;
SELECT results_eq(
    'outcome', 'SELECT ''committed'', 2, outbox_seqs[1:1] || outbox_seqs[3:3] FROM made',
    'of which those that were sent are missing'
);
SAVEPOINT before;
DO $$ BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 2, NULL, '00000000-0000-0000-0000-000000000002');
END $$;
SELECT results_eq(
    $$SELECT outcome, stored_version, outbox_seqs FROM harel_outcome('e', 2, '00000000-0000-0000-0000-000000000002')$$,
    $$VALUES ('committed', 3, '{}'::bigint[])$$, 'another commit has none of them'
);

SELECT * FROM finish();
