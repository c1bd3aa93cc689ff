SELECT plan(2);

SELECT harel_commit_cas('e', 'd', '{"status": "RUNNING"}', 0);
UPDATE executions SET version = 2147483647;

SELECT throws_ok(
    $$SELECT harel_cancel('e')$$, 'ST002', 'an execution at the last version cannot be changed',
    'there is no version after it'
);
SELECT is(harel_load('e'), '{"status": "RUNNING"}', 'and it is as it was');

SELECT * FROM finish();
