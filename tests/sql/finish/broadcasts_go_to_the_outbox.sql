SELECT plan(2);

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
-- On several nodes the relay moves what is sent.
DO $$ BEGIN PERFORM harel_relay_spawns(p_now => 101), harel_relay(p_now => 101) WHERE harel__is_distributed(); END $$;

SELECT results_eq(
    'SELECT target_id, event, source_id FROM harel_pending_outbox()',
    $$VALUES (NULL, 'all1', 'e'), (NULL, 'all2', 'e')$$, 'they are there in their order'
);
SELECT is((SELECT array_agg(event) FROM transport_messages), '{x1}', 'and the one with a target is not');

SELECT * FROM finish();
