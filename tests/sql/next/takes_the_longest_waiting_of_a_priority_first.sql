SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('e' || n, 'd', '{}', 0) FROM generate_series(1, 3) n;
    PERFORM harel_publish('e' || n, 'ev', p_now => 100 + at) FROM unnest('{2,3,1}'::int[]) WITH ORDINALITY AS o (at, n);
END
$$;

SELECT is(ARRAY(SELECT group_id FROM harel_next('w', 30, p_now => 200)), '{e3}', 'the one from the earliest time');
SELECT is(ARRAY(SELECT group_id FROM harel_next('w', 30, p_now => 200)), '{e1}', 'then the next');
SELECT is(ARRAY(SELECT group_id FROM harel_next('w', 30, p_now => 200)), '{e2}', 'then the last');
SELECT is_empty($$SELECT * FROM harel_next('w', 30, p_now => 200)$$, 'and then there is none');

SELECT * FROM finish();
