SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{}', 0, p_emit_targets => '{x,NULL,y}', p_emit_events => '{1,2,3}');
END
$$;

SELECT is(ARRAY(SELECT event FROM harel_take_outbox(2)), '{1,2}', 'the oldest two');
SELECT is_empty('SELECT * FROM harel_take_outbox(0)', 'none');
SELECT is(ARRAY(SELECT event FROM harel_take_outbox(NULL)), '{1,2,3}', 'NULL is no limit');
SELECT throws_ok('SELECT harel_take_outbox(-1)', 'ST008', NULL, 'a negative one is refused');

SELECT * FROM finish();
