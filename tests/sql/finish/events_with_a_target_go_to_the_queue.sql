SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
    PERFORM harel_publish('e', 'ev', p_now => 100);
    PERFORM harel_publish('x', 'x0', p_now => 100);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_claim('w', 30, 10, p_now => 100);
CREATE TEMP TABLE answer AS SELECT * FROM harel_finish(
    '{e}', (SELECT ARRAY[token] FROM lease WHERE group_id = 'e'), '{d}', '{1}', '{1}',
    p_emit_commits => '{1,1,1,1,1}', p_emit_targets => '{x,y,x,y,x}', p_emit_events => '{x1,y1,x2,y2,x3}', p_now => 101
);
-- On several nodes the relay moves what is sent.
DO $$ BEGIN PERFORM harel_relay_spawns(p_now => 101), harel_relay(p_now => 101) WHERE harel__is_distributed(); END $$;

SELECT is((SELECT result FROM answer), 'finished', 'it is finished');
SELECT is(
    ARRAY(SELECT event FROM transport_messages ORDER BY group_id, seq), '{x0,x1,x2,x3,y1,y2}',
    'they stand in their order behind what is there'
);
SELECT is_empty('SELECT * FROM outbox', 'and none is in the outbox');
SELECT is(
    (SELECT concat_ws(' ', available_at, attempts, worker) FROM transport_groups WHERE group_id = 'x'), '130 1 w',
    'a lease on a target holds on'
);
SELECT is(
    (SELECT available_at FROM transport_groups WHERE group_id = 'y'), 101::float8, 'the other can be claimed at once'
);

SELECT * FROM finish();
