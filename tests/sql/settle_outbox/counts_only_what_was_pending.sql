SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{}', 0, p_emit_targets => '{x,y}', p_emit_events => '{1,2}');
END
$$;

SELECT is(
    harel_settle_outbox((SELECT ARRAY[min(seq), min(seq), -1, NULL] FROM outbox)), 1,
    'one named twice, unknown ones and NULL'
);
SELECT is(ARRAY(SELECT event FROM outbox), '{2}', 'that one is gone');
SELECT is(harel_settle_outbox('{}'), 0, 'nothing settles nothing');
SELECT is(harel_settle_outbox(NULL), 0, 'and so does NULL');
SELECT is((SELECT count(*) FROM outbox), 1::bigint, 'the other stays');

SELECT * FROM finish();
