SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0, '5');
    PERFORM harel_publish('e', '{"id": 5}', p_now => 100);
END
$$;

SELECT is((SELECT already_processed FROM harel_next('w', 30, p_now => 100)), true, '5 is the event marked as 5');

SELECT * FROM finish();
