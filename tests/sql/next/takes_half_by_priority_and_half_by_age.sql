SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas(k || n, 'd', '{}', 0) FROM unnest('{old,some,most}'::text[]) k, generate_series(1, 4) n;
    PERFORM harel_publish('old' || n, 'ev', 0, 100 + n) FROM generate_series(1, 4) n;
    PERFORM harel_publish('some' || n, 'ev', 1, 110 + n) FROM generate_series(1, 4) n;
    PERFORM harel_publish('most' || n, 'ev', 4, 120 + n) FROM generate_series(1, 4) n;
END
$$;

SELECT is(
    ARRAY(SELECT group_id FROM harel_next('w', 30, 4, p_now => 200) ORDER BY group_id), '{most1,most2,old1,old2}',
    'the most urgent, of these the oldest, and the oldest of all'
);
SELECT is(
    ARRAY(SELECT group_id FROM harel_next('w', 30, 6, p_now => 200) ORDER BY group_id),
    '{most3,most4,old3,old4,some1,some2}', 'then the next urgent, and by age whatever has waited longest'
);
SELECT is(
    ARRAY(SELECT group_id FROM harel_next('w', 30, 10, p_now => 200) ORDER BY group_id), '{some3,some4}',
    'then all that is left'
);

SELECT * FROM finish();
