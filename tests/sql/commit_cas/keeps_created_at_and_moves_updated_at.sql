SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
END
$$;

SELECT is((SELECT created_at FROM executions), now(), 'the first save sets the time of creation');
SELECT is((SELECT updated_at FROM executions), now(), 'and the time of the last commit');
UPDATE executions SET created_at = 'epoch', updated_at = 'epoch';
SELECT is(harel_commit_cas('e', 'd', '{}', 1), true, 'a later commit');
SELECT is((SELECT created_at FROM executions), 'epoch', 'keeps the time of creation');
SELECT is((SELECT updated_at FROM executions), now(), 'and moves the time of the last commit');

SELECT * FROM finish();
