SELECT plan(2);

-- Each in a transaction of its own within this one.
DO $$
BEGIN
    BEGIN
        PERFORM harel_commit('e', 'd', '{}', 0, p_emit_targets => '{x}', p_emit_events => '{of the first}');
    EXCEPTION WHEN division_by_zero THEN
        NULL;
    END;
    PERFORM harel_purge('e', 1);
    BEGIN
        PERFORM harel_commit(
            'e', 'd', '{}', 0, p_emit_targets => '{x}', p_emit_events => '{of the second}',
            p_commit_id => '00000000-0000-0000-0000-000000000001'
        );
    EXCEPTION WHEN division_by_zero THEN
        NULL;
    END;
END
$$;

SELECT is((SELECT count(*) FROM outbox WHERE source_id = 'e'), 2::bigint, 'what the first emitted stays');
SELECT is(
    (SELECT outbox_seqs FROM harel_outcome('e', 0, '00000000-0000-0000-0000-000000000001')),
    ARRAY(SELECT seq FROM outbox WHERE event = 'of the second'),
    'and is not of the commit of the second'
);

SELECT * FROM finish();
