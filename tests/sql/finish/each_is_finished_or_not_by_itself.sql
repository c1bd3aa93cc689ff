SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas(e, 'd', '{"n": 1}', 0) FROM unnest('{conflict,expired,won,won too}'::text[]) e;
    PERFORM harel_publish(e, 'ev', p_now => 100) FROM unnest('{conflict,expired,won,won too}'::text[]) e;
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, 10, p_now => 100);
DO $$
BEGIN
    PERFORM harel_commit_cas('conflict', 'd', '{"n": 2}', 1);
    PERFORM harel_nack('expired', token, 0, p_now => 101) FROM lease WHERE group_id = 'expired';
END
$$;

SELECT results_eq(
    $$SELECT * FROM harel_finish(
        '{won too,expired,conflict,won}', (SELECT array_agg(token) FROM lease), '{d,d,d,d}', '{0,0,0,0}', '{1,1,1,1}',
        p_now => 102
    )$$,
    $$VALUES ('won too', 'finished', 2, '{}'::bigint[]), ('expired', 'expired', NULL, '{}'),
    ('conflict', 'conflict', 2, '{}'), ('won', 'finished', 2, '{}')$$, 'all three results stand beside each other'
);
SELECT is(
    ARRAY(SELECT id || data FROM executions ORDER BY id), ARRAY['conflict{"n": 2}', 'expired{"n": 1}', 'won0',
    'won too0'],
    'the finished ones are committed'
);
SELECT is(
    ARRAY(SELECT group_id FROM transport_messages ORDER BY group_id), '{conflict,expired}',
    'and the others keep their messages'
);

SELECT * FROM finish();
