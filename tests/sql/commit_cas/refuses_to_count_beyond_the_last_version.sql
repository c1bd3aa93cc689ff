SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
    UPDATE executions SET version = 2147483646;
END
$$;

SELECT is(harel_commit_cas('e', 'd', '{"n": 1}', 2147483646), true, 'the last version but one commits');
SELECT is((SELECT version FROM executions), 2147483647, 'and makes the last');
SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', '{"n": 2}', 2147483647)$$, 'ST002', NULL, 'which is refused');
SELECT is(harel_load('e'), '{"n": 1}', 'and stays as it is');

SELECT * FROM finish();
