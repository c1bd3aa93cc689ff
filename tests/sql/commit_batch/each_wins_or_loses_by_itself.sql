SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('a', 'd', '{"n": 1}', 0);
    PERFORM harel_commit_cas('b', 'd', '{"n": 1}', 0);
    PERFORM harel_commit_cas('b', 'd', '{"n": 2}', 1);
END
$$;

SELECT results_eq(
    $$SELECT id, committed, stored_version
    FROM harel_commit_batch('{b,a,none,new}', '{d,d,d,d}', '{3,3,3,3}', '{1,1,4,0}', '{ev,ev,ev,ev}')$$,
    $$VALUES ('b', false, 2), ('a', true, 2), ('none', false, NULL), ('new', true, 1)$$,
    'a loser is told the version found, NULL where there is no row'
);
SELECT is(harel_load('b'), '{"n": 2}', 'the loser keeps its data');
SELECT is(ARRAY(SELECT id FROM executions ORDER BY id), '{a,b,new}', 'no row is made for one that has none');
SELECT is(
    ARRAY(SELECT execution_id FROM processed_events ORDER BY execution_id), '{a,new}', 'and the event is marked for winners only'
);

SELECT * FROM finish();
