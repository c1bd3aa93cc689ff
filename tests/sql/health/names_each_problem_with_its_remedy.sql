SELECT plan(9);

DO $$
BEGIN
    PERFORM harel_publish('stuck', '1', p_now => 1);
    PERFORM harel_claim('w''s', 1e9, 1, p_now => 1);
    UPDATE transport_groups SET claimed_at = to_timestamp(1);
    PERFORM harel_publish('waits', '1', p_now => 930);
    PERFORM harel_commit('a', 'd', '{}', 0, p_timer_actions => '{schedule}', p_timer_paths => '{p}', p_timer_fire_ats => '{900}');
    INSERT INTO outbox (seq, target_id, event) SELECT 100000 + n, 'x', 'e' FROM generate_series(1, 10000) n;
    INSERT INTO dead_letters (group_id, seq, event, reason, attempts, published_at) VALUES ('dead', 1, 'e', 'no such', 1, now());
END
$$;
DO $$ BEGIN DROP INDEX outbox_targeted; END $$;
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'spawns_by_child'::regclass;
CREATE TEMP TABLE found AS SELECT * FROM harel_health('0.9', 17, 4000);

SELECT ok((SELECT detail ~ '3983' FROM found WHERE problem ~ 'clocks'), 'clocks');
SELECT ok((SELECT detail ~ '0\.9' AND remedy ~ 'UPDATE' FROM found WHERE problem ~ 'different versions'), 'versions');
SELECT is(
    ARRAY(SELECT detail FROM found WHERE problem ~ 'index' ORDER BY 1), '{public.outbox_targeted.,public.spawns_by_child.}',
    'an index that is missing and one that is not valid'
);
SELECT ok((SELECT remedy ~ 'REINDEX INDEX' FROM found WHERE detail ~ 'spawns_by_child'), 'which can be built again');
SELECT ok((SELECT detail ~ '^2 messages' AND remedy ~ 'workers' FROM found WHERE problem ~ 'nobody takes'), 'messages');
SELECT ok((SELECT detail ~ '3100 s' AND remedy ~ 'harel_tick' FROM found WHERE problem ~ 'overdue'), 'timers');
SELECT ok((SELECT remedy ~ 'harel_tick' FROM found WHERE problem ~ 'pile up'), 'the outbox');
SELECT ok((SELECT detail ~ 'dead: no such' AND remedy ~ 'redrive' FROM found WHERE problem ~ 'dead letters'), 'dead letters');
SELECT ok((SELECT detail ~ '''stuck''.*''w''''s''' FROM found WHERE problem ~ 'stuck'), 'a lease');

SELECT * FROM finish();
