SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_commit_cas('p', 'd', '{}', 0);
    PERFORM harel_commit_cas('p/c', 'd', '{"parent_id": "p"}', 0);
    PERFORM harel_purge('p', 1);
END
$$;

SELECT is(ARRAY(SELECT id FROM executions), '{p/c}', 'they are executions of their own');

SELECT * FROM finish();
