SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
    PERFORM harel_publish('e', 'bad', p_now => 100);
    PERFORM harel_publish('e', 'good', p_now => 100);
    PERFORM harel_next('w', 1, p_max_attempts => 2, p_now => 100);
    PERFORM harel_next('w', 1, p_max_attempts => 2, p_now => 200);
END
$$;

SELECT is(
    (SELECT concat_ws(' ', event, attempts) FROM harel_next('w', 1, p_max_attempts => 2, p_now => 300)), 'good 1',
    'instead of a third delivery the next one of the group comes'
);
SELECT is(ARRAY(SELECT event || ' ' || attempts FROM harel_dead_letters()), '{bad 2}', 'it is a dead letter');

SELECT * FROM finish();
