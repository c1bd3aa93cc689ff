SELECT plan(2);

DO $$ BEGIN PERFORM harel_commit_cas('b', 'd', '{}', 0); END $$;

SELECT results_eq(
    $$SELECT * FROM harel_commit_batch('{c,a,b}', '{dc,da,db}', '{"\"C\"","\"A\"","\"B\""}', '{0,0,1}')$$,
    $$VALUES ('c', true, 1, '{}'::bigint[]), ('a', true, 1, '{}'), ('b', true, 2, '{}')$$, 'one row for each commit'
);
SELECT is(
    ARRAY(SELECT concat_ws(' ', id, definition_id, data, version) FROM executions ORDER BY id),
    ARRAY['a da "A" 1', 'b db "B" 2', 'c dc "C" 1'], 'each has its definition, data and version'
);

SELECT * FROM finish();
