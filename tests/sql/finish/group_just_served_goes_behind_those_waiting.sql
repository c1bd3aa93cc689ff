SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas(e, 'd', '{}', 0) FROM unnest('{a,b}'::text[]) e;
    PERFORM harel_publish('a', 'a' || n, p_now => 100) FROM generate_series(1, 2) n;
    PERFORM harel_publish('b', 'b1', p_now => 101);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 102);

SELECT is(
    (SELECT l.event || f.result FROM lease l, harel_finish('{a}', ARRAY[l.token], '{d}', '{1}', '{1}', p_now => 103) f),
    'a1finished', 'one of two groups is served'
);
SELECT is((SELECT event FROM harel_next('w', 30, p_now => 104)), 'b1', 'then it is the turn of the other');

SELECT * FROM finish();
