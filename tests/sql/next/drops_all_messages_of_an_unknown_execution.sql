SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_publish('unknown', 'ev' || n, p_now => 100) FROM generate_series(1, 3) n;
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
    PERFORM harel_publish('e', 'other', p_now => 100);
END
$$;

SELECT is(ARRAY(SELECT event FROM harel_next('w', 30, 10, p_now => 100)), '{other}', 'they are not handed out');
SELECT results_eq(
    'SELECT group_id, event, reason FROM harel_dead_letters()',
    $$VALUES ('unknown', 'ev1', 'there is no such execution'), ('unknown', 'ev2', 'there is no such execution'),
    ('unknown', 'ev3', 'there is no such execution')$$, 'they are dead letters, in their order'
);
SELECT is(ARRAY(SELECT group_id FROM transport_groups), '{e}', 'and their group is gone');
SELECT is((SELECT array_agg(event) FROM transport_messages), '{other}', 'with its messages');

SELECT * FROM finish();
