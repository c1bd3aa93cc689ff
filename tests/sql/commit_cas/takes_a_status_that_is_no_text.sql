SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('null', 'd', '{"status": null}', 0);
    PERFORM harel_commit_cas('number', 'd', '{"status": 5}', 0);
    PERFORM harel_commit_cas('object', 'd', '{"status": {"a": 1}}', 0);
    PERFORM harel_commit_cas('empty', 'd', '{"status": ""}', 0);
END
$$;

SELECT is((SELECT status FROM executions WHERE id = 'null'), '', 'null is no status');
SELECT is((SELECT status FROM executions WHERE id = 'number'), '5', 'a number is its digits');
SELECT is((SELECT status FROM executions WHERE id = 'object'), '{"a": 1}', 'an object is its text');
SELECT is((SELECT status FROM executions WHERE id = 'empty'), '', 'an empty status is none');

SELECT * FROM finish();
