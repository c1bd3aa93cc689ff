SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_commit_cas('e' || n, 'd', '{}', 0) FROM generate_series(1, 4) n;
    PERFORM harel_publish('e' || n, 'ev', 3, 100 + n) FROM generate_series(1, 4) n;
END
$$;

SELECT is(
    ARRAY(SELECT group_id FROM harel_next('w', 30, 4, p_now => 200) ORDER BY group_id), '{e1,e2,e3,e4}',
    'where all are urgent, the limit is reached all the same, and none comes twice'
);

SELECT * FROM finish();
