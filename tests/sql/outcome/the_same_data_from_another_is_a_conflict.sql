SELECT plan(3);

DO $$ BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"balance": 60}', 0, NULL, '00000000-0000-0000-0000-000000000001');
    PERFORM harel_commit_cas('unnamed', 'd', '{"balance": 60}', 0);
END $$;

SELECT results_eq(
    $$SELECT outcome, stored_version, outbox_seqs FROM harel_outcome('e', 0, '00000000-0000-0000-0000-000000000002')$$,
    $$VALUES ('conflict', 1, '{}'::bigint[])$$, 'another has brought it to this version'
);
SELECT is(
    (SELECT outcome FROM harel_outcome('unnamed', 0, '00000000-0000-0000-0000-000000000002')), 'conflict',
    'also one that gave no name'
);
SELECT is(
    (SELECT outcome FROM harel_outcome('e', 7, '00000000-0000-0000-0000-000000000002')), 'conflict',
    'a version that was never reached was not committed'
);

SELECT * FROM finish();
