SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas(e, 'd', '{"status": "DONE", "finished_at": 100}', 0)
    FROM unnest('{none,queued,emitted}'::text[]) e;
    PERFORM harel_commit('parent', 'd', '{"status": "DONE", "finished_at": 100}', 0, NULL, NULL, NULL, '{c}', '{r}', '{1}');
    PERFORM harel_commit('source', 'd', '{"status": "RUNNING"}', 0, NULL, '{emitted}', '{e}');
    PERFORM harel_publish('queued', 'e');
END
$$;

SELECT is(harel_purge_finished(0, p_now => 1000), 1, 'the others go');
SELECT is(
    ARRAY(SELECT id FROM executions ORDER BY id), '{emitted,parent,queued,source}',
    'a message, an event in the outbox or a child to be created is not lost'
);

SELECT * FROM finish();
