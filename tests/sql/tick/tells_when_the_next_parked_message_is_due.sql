SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_commit_cas(e, 'd', '{}', 0) FROM unnest('{a,b,c,d}'::text[]) e;
    PERFORM harel_publish(e, 'ev', p_now => 100) FROM unnest('{a,b,c,d}'::text[]) e;
    PERFORM harel_suspend('d');
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, 2, p_now => 100);

SELECT is(
    (SELECT next_at FROM harel_tick(p_now => 101)), 130::float8, 'a lease ends, and what can be claimed now counts not'
);
SELECT is((SELECT bool_and(harel_nack(group_id, token, 10, p_now => 105)) FROM lease), true, 'given back for later');
SELECT is((SELECT next_at FROM harel_tick(p_now => 106)), 115::float8, 'they are due');
INSERT INTO timers VALUES ('e', 'p', 110);
SELECT is((SELECT next_at FROM harel_tick(p_now => 107)), 110::float8, 'or a timer before them');
SELECT is((SELECT next_at FROM harel_tick(p_now => 120)), NULL, 'those of a suspended execution are due at no time');

SELECT * FROM finish();
