SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0, 'ev');
    PERFORM harel_publish('e', 'ev', p_now => 100);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);
DO $$ BEGIN PERFORM harel_purge('e', 1); END $$;

SELECT is(harel_commit_cas('e', 'd', '{"n": 2}', 1), false, 'it does not bring the execution back');
SELECT results_eq(
    $$SELECT committed, stored_version FROM harel_commit('e', 'd', '{}', 1, 'ev', '{x}', '{a}')$$,
    'VALUES (false, NULL::integer)',
    'nor does it leave anything else'
);
SELECT is(
    (SELECT f.result FROM lease l, harel_finish('{e}', ARRAY[l.token], '{d}', '{1}', '{1}', p_now => 101) f), 'expired',
    'a step in progress is lost'
);
SELECT is_empty('SELECT 1 FROM executions UNION ALL SELECT 1 FROM outbox', 'nothing is there');

SELECT * FROM finish();
