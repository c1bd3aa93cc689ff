SELECT plan(1);

DO $$
BEGIN
    PERFORM harel_commit_cas('p', 'd', '{"status": "SUSPENDED"}', 0);
    PERFORM harel_commit_cas('c', 'd', '{"status": "RUNNING", "parent_id": "p"}', 0);
    PERFORM harel_publish('c', 'ev');
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 3600);
DO $$ BEGIN PERFORM harel_resume('p'); END $$;

SELECT is(
    (SELECT f.result FROM lease l, harel_finish('{c}', ARRAY[l.token], '{d}', '{1}', '{1}') f), 'finished',
    'a child that was not suspended goes on with its step'
);

SELECT * FROM finish();
