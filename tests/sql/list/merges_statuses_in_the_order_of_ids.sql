SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas(
        lpad(n::text, 3, '0'), 'd',
        format('{"status": "%s", "parent_id": %s}', (ARRAY['A', 'B', 'C'])[n % 3 + 1], CASE WHEN n % 2 = 0 THEN '"p"' ELSE 'null' END), 0
    )
    FROM generate_series(1, 12) n;
END
$$;

SELECT is(ARRAY(SELECT id FROM harel_list('d', '{C,A}', false, 4)), '{002,003,005,006}', 'the first page of two statuses');
SELECT is(
    ARRAY(SELECT id FROM harel_list(NULL, '{A,C}', false, 4, (SELECT max(next_cursor) FROM harel_list('d', '{C,A}', false, 4)))),
    '{008,009,011,012}', 'and the second'
);

SELECT * FROM finish();
