SELECT plan(5);

DO $$ BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
    PERFORM harel_commit_cas('e', 'd', '{}', 1, 'ev', '00000000-0000-0000-0000-000000000001');
    PERFORM harel_suspend('e');
END $$;

SELECT results_eq(
    $$SELECT outcome, stored_version, outbox_seqs FROM harel_outcome('e', 1, '00000000-0000-0000-0000-000000000001')$$,
    $$VALUES ('unknown', 3, '{}'::bigint[])$$, 'without an event nothing tells'
);
SELECT is(
    (SELECT outcome FROM harel_outcome('e', 1, '00000000-0000-0000-0000-000000000001', '')), 'unknown',
    'an empty event is none'
);
SELECT is(
    (SELECT outcome FROM harel_outcome('e', 1, '00000000-0000-0000-0000-000000000001', 'ev')), 'conflict',
    'with an event the ledger tells'
);
SELECT is(
    (SELECT outcome FROM harel_outcome('e', 1, '00000000-0000-0000-0000-000000000001', 'another')), 'conflict',
    'also that it was not handled'
);
SELECT results_eq(
    $$
        SELECT outcome, stored_version, outbox_seqs
        FROM harel_outcome('purged', 1, '00000000-0000-0000-0000-000000000001', 'ev')
    $$,
    $$VALUES ('unknown', NULL::integer, '{}'::bigint[])$$, 'with the execution its ledger is gone'
);

SELECT * FROM finish();
