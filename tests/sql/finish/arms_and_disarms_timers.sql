SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit(
        'e', 'd', '{}', 0, p_timer_actions => '{schedule,schedule}', p_timer_paths => '{moved,gone}',
        p_timer_fire_ats => '{1,2}'
    );
    PERFORM harel_publish('e', 'ev', p_now => 100);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);
CREATE TEMP TABLE answer AS SELECT * FROM harel_finish(
    '{e}', (SELECT array_agg(token) FROM lease), '{d}', '{1}', '{1}',
    p_timer_commits => '{1,1,1,1,1}', p_timer_actions => '{schedule,schedule,cancel,cancel,schedule}',
    p_timer_paths => '{moved,new,gone,new,new}', p_timer_fire_ats => '{3.25,4,NULL,0,5}', p_now => 101
);

SELECT is((SELECT result FROM answer), 'finished', 'it is finished');
SELECT is(
    ARRAY(SELECT concat_ws(' ', execution_id, path, fire_at) FROM timers ORDER BY path), '{e moved 3.25,e new 5}',
    'what was asked for is done in its order'
);

SELECT * FROM finish();
