SELECT plan(6);

DO $$ BEGIN PERFORM harel_publish('e', 'ev', p_now => 100); END $$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_claim('w', 30, p_now => 100);

SELECT results_eq(
    $$SELECT f.group_id, f.result, f.stored_version FROM lease l, harel_finish(
        '{e}', ARRAY[l.token], '{d}', ARRAY['{"status": "RUNNING", "priority": 2}'], '{0}', '{ev}', '{1}', '{x}',
        '{hi}',
        '{1}', '{c}', '{r}', '{1}', '{1}', '{schedule}', '{t}', '{5}', '{step}', p_now => 101
    ) f$$,
    $$VALUES ('e', 'finished', 1)$$, 'it is finished as version 1'
);
-- On several nodes the relay moves what is sent.
DO $$ BEGIN PERFORM harel_relay_spawns(p_now => 101), harel_relay(p_now => 101) WHERE harel__is_distributed(); END $$;
SELECT is(
    ARRAY(SELECT concat_ws(' ', id, version, status, priority) FROM executions ORDER BY id),
    '{c 1 PENDING 2,e 1 RUNNING 2}',
    'with its child'
);
SELECT is(ARRAY(SELECT group_id FROM transport_messages ORDER BY group_id), '{c,x}', 'its events');
SELECT is((SELECT count(*) FROM timers), 1::bigint, 'its timer');
SELECT is((SELECT count(*) FROM harel_read_trace('e')), 1::bigint, 'its trace');
SELECT is(harel_is_processed('e', 'ev'), true, 'and its mark');

SELECT * FROM finish();
