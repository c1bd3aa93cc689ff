SELECT plan(2);

-- That it was unknown may be old news when its messages are to be dropped: another session can create it in between.
DO $$
BEGIN
    PERFORM harel_publish(e, 'ev of ' || e, p_now => 100) FROM unnest('{created,unknown}'::text[]) e;
    UPDATE transport_groups
    SET available_at = 130, token = '00000000-0000-0000-0000-000000000000', worker = 'w', attempts = 1;
    PERFORM harel_commit_cas('created', 'd', '{}', 0);
    PERFORM harel__drop_unknown('{created,unknown}', 100);
END
$$;

SELECT is(ARRAY(SELECT group_id FROM harel_dead_letters()), '{unknown}', 'only what is still unknown is dropped');
SELECT is(
    (SELECT concat_ws(' ', event, attempts) FROM harel_next('w', 30, p_now => 101)), 'ev of created 1',
    'the other is handed out'
);

SELECT * FROM finish();
