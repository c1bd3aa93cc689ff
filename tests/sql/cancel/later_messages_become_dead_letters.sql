SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"status": "RUNNING"}', 0);
    PERFORM harel_cancel('e');
    PERFORM harel_publish('e', 'late', p_now => 100);
END
$$;

SELECT is_empty($$SELECT * FROM harel_next('w', 30, p_now => 100)$$, 'they are not handed out');
SELECT is(
    ARRAY(SELECT event || ': ' || reason FROM harel_dead_letters()), '{late: the execution is CANCELLED}', 'but dropped'
);

SELECT * FROM finish();
