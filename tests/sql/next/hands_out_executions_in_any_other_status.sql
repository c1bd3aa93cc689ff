SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_commit_cas('none', 'd', '{}', 0);
    PERFORM harel_commit_cas('odd', 'd', '{"status": "Suspended"}', 0);
    PERFORM harel_commit_cas('list', 'd', '["DONE"]', 0);
    PERFORM harel_publish(id, 'ev', p_now => 100) FROM unnest('{none,odd,list}'::text[]) id;
END
$$;

SELECT results_eq(
    $$SELECT group_id, status FROM harel_next('w', 30, 10, p_now => 100) ORDER BY group_id$$,
    $$VALUES ('list', ''), ('none', ''), ('odd', 'Suspended')$$, 'with it, or with an empty one where data has none'
);

SELECT * FROM finish();
