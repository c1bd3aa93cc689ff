SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
    PERFORM harel_publish('e', 'ev', 2, 100);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);
CREATE TEMP TABLE answer AS SELECT * FROM harel_finish(
    '{e}', (SELECT array_agg(token) FROM lease), '{d}', '{"{\"priority\": 2}"}', '{1}',
    p_emit_commits => '{1,1}', p_emit_targets => '{e,e}', p_emit_events => '{a,b}', p_now => 101
);
-- On several nodes the relay moves what is sent.
DO $$ BEGIN PERFORM harel_relay_spawns(p_now => 101), harel_relay(p_now => 101) WHERE harel__is_distributed(); END $$;

SELECT is((SELECT result FROM answer), 'finished', 'it is finished');
SELECT is(ARRAY(SELECT event FROM transport_messages ORDER BY seq), '{a,b}', 'its own events are what is left');
SELECT is(
    (SELECT concat_ws(' ', head - tail, available_at, attempts, priority) FROM transport_groups), '-1 101 0 2',
    'in the same group'
);
SELECT is((SELECT event FROM harel_next('w', 30, p_now => 101)), 'a', 'and come next');

SELECT * FROM finish();
