SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
    PERFORM harel_commit_cas('x', 'd', '{}', 0);
    PERFORM harel_publish('x', 'x1', p_now => 100);
    PERFORM harel_suspend('x');
    PERFORM harel_publish('e', 'ev', p_now => 100);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);
CREATE TEMP TABLE answer AS SELECT * FROM harel_finish(
    '{e}', (SELECT array_agg(token) FROM lease), '{d}', '{1}', '{1}',
    p_emit_commits => '{1}', p_emit_targets => '{x}', p_emit_events => '{x2}', p_now => 101
);
-- On several nodes the relay moves what is sent.
DO $$ BEGIN PERFORM harel_relay_spawns(p_now => 101), harel_relay(p_now => 101) WHERE harel__is_distributed(); END $$;

SELECT is((SELECT result FROM answer), 'finished', 'the sender is finished');
SELECT is((SELECT available_at FROM transport_groups), 'Infinity'::float8, 'the group of the receiver stays parked');
SELECT is(ARRAY(SELECT event FROM transport_messages ORDER BY seq), '{x1,x2}', 'with the event');

SELECT * FROM finish();
