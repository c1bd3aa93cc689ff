SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
    PERFORM harel_publish('e', 'ev');
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30);

SELECT is(
    (SELECT f.result FROM lease l, harel_finish('{e}', ARRAY[l.token], '{d}', '{1}', '{1}', p_now => l.deadline) f),
    'expired', 'at a time given, the lease is over'
);
SELECT is(
    (SELECT f.result FROM lease l, harel_finish('{e}', ARRAY[l.token], '{d}', '{1}', '{1}') f), 'finished',
    'at present it holds'
);

SELECT * FROM finish();
