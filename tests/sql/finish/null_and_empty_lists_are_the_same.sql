SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas(e, 'd', '{}', 0) FROM unnest('{a,b}'::text[]) e;
    PERFORM harel_publish(e, 'ev', p_now => 100) FROM unnest('{a,b}'::text[]) e;
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, 10, p_now => 100);

SELECT is(
    (
        SELECT result FROM harel_finish(
            '{a}', (SELECT ARRAY[token] FROM lease LIMIT 1), '{d}', '{1}', '{1}', '{}', '{}', NULL, '{}', '{}', '{}',
            '{}', NULL,
            NULL, '{}', '{}', '{}', '{}', p_now => 101
        )
    ),
    'finished', 'NULL beside empty'
);
SELECT is(
    (
        SELECT result FROM harel_finish(
            '{b}', (SELECT ARRAY[token] FROM lease LIMIT 1), '{d}', '{1}',
            '{1}', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
            NULL, NULL, NULL, NULL, NULL, NULL, p_now => 101
        )
    ),
    'finished', 'and NULL alone'
);
SELECT is(
    (SELECT count(*) FROM processed_events) + (SELECT count(*) FROM trace) + (SELECT count(*) FROM outbox), 0::bigint,
    'nothing is written for them'
);

SELECT * FROM finish();
