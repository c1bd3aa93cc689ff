SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{}', 0, 'ev', '{x,NULL}', '{x1,all}', p_trace => 'step');
    PERFORM harel_cancel('e');
END
$$;

SELECT is(ARRAY(SELECT event FROM outbox ORDER BY seq), '{x1,all}', 'what it has emitted is on its way');
SELECT is(ARRAY(SELECT entry FROM harel_read_trace('e')), '{step}', 'its trace stays');
SELECT is(harel_is_processed('e', 'ev'), true, 'and so do its marks');

SELECT * FROM finish();
