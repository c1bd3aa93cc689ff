SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas(e, 'd', '{}', 0) FROM unnest('{a,b}'::text[]) e;
    PERFORM harel_publish('a', 'ev', p_now => 100);
END
$$;
CREATE TEMP TABLE lease AS SELECT group_id, token FROM harel_next('w', 30, p_now => 100);
DO $$ BEGIN PERFORM harel_publish('b', 'ev', p_now => 100); END $$;
INSERT INTO lease SELECT group_id, token FROM harel_next('w', 30, p_now => 100);

SELECT is(
    ARRAY(
        SELECT result FROM harel_finish(
            '{b,a}', (SELECT array_agg(token ORDER BY group_id) FROM lease), '{d,d}', '{1,1}', '{1,1}', p_now => 101
        )
    ),
    '{expired,expired}', 'that of one is none for the other'
);
SELECT is(
    ARRAY(
        SELECT result FROM harel_finish(
            '{a,b}', (SELECT array_agg(token ORDER BY group_id) FROM lease), '{d,d}', '{1,1}', '{1,1}', p_now => 101
        )
    ),
    '{finished,finished}', 'each its own'
);

SELECT * FROM finish();
