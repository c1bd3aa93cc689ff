SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{"status": "DONE"}', 0, 'ev', p_trace => 'old');
    PERFORM harel_purge('e', 1);
    PERFORM harel_commit('e', 'd', '{"status": "RUNNING"}', 0, p_trace => 'new');
END
$$;

SELECT is((SELECT status || version FROM executions), 'RUNNING1', 'a new execution begins at version 1');
SELECT is(harel_is_processed('e', 'ev'), false, 'has seen no event');
SELECT results_eq($$SELECT * FROM harel_read_trace('e')$$, $$VALUES (0, 'new')$$, 'and traces from 0');

SELECT * FROM finish();
