SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"n": 1}', 0);
    PERFORM harel_publish('e', 'ev', p_now => 100);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);

SELECT is(
    (SELECT f.result FROM lease l, harel_finish('{e}', ARRAY[l.token], '{d}', '{NULL}', '{1}', p_now => 130) f),
    'expired',
    'the lease is over'
);
SELECT is((SELECT count(*) FROM transport_messages), 1::bigint, 'and the message stays');

SELECT * FROM finish();
