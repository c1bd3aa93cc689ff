SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_commit_cas('a', 'd1', '{"status": "DONE", "outcome": "ok", "active_path": "x/y", "parent_id": "p"}', 0);
    PERFORM harel_commit_cas('b', 'd2', '{}', 0);
    PERFORM harel_commit_cas('b', 'd2', '{}', 1);
    UPDATE executions SET created_at = 'epoch', updated_at = '2001-01-01', finished_at = '2002-02-02' WHERE id = 'a';
END
$$;

SELECT results_eq(
    'SELECT * FROM harel_list()',
    $$VALUES
        (
            'a', 'd1', 'DONE', 'ok', 'x/y', 1, 'p', 'epoch'::timestamptz, '2001-01-01'::timestamptz,
            '2002-02-02'::timestamptz, NULL::text
        ),
        ('b', 'd2', NULL, NULL, NULL, 2, NULL, now(), now(), NULL, NULL)$$,
    'from the fields of data and the times of the commits'
);

SELECT * FROM finish();
