SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('e' || p, 'd', '{}', 0) FROM generate_series(0, 4) p;
    PERFORM harel_publish('e' || p, 'ev', p, 100 + p) FROM generate_series(0, 4) p;
END
$$;

SELECT is(ARRAY(SELECT group_id FROM harel_next('w', 30, 1, 2, p_now => 200)), '{e4}', 'the most urgent first');
SELECT is(
    ARRAY(SELECT group_id FROM harel_next('w', 30, 9, 2, p_now => 200) ORDER BY group_id), '{e2,e3}',
    'and no lesser one'
);
SELECT is_empty($$SELECT * FROM harel_next('w', 30, 9, 2, p_now => 200)$$, 'even where these are all that is left');
SELECT is(
    ARRAY(SELECT group_id FROM harel_next('w', 30, 9, 0, p_now => 200) ORDER BY group_id), '{e0,e1}', 'from 0 on, all'
);

SELECT * FROM finish();
