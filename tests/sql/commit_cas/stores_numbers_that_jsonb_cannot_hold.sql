SELECT plan(8);

SELECT is(harel_commit_cas('a', 'd', '{"status":"RUNNING","x":1e400}', 0), true, '1e400 commits');
SELECT is(harel_commit_cas('b', 'd', '{"status":"RUNNING","x":1e999999}', 0), true, '1e999999 commits');
SELECT is(harel_commit_cas('c', 'd', '{"status":"RUNNING","x":-1E+999999}', 0), true, '-1E+999999 commits');
SELECT is(harel_commit_cas('d', 'd', '{"status":"RUNNING","x":1e-999999}', 0), true, '1e-999999 commits');
SELECT is(harel_commit_cas('e', 'd', '{"status":"RUNNING","outcome":1e999999}', 0), true, '1e999999 as the outcome commits');
SELECT is(
    ARRAY(SELECT harel_load(i) FROM unnest('{a,b,c,d}'::text[]) i),
    ARRAY[
        '{"status":"RUNNING","x":1e400}', '{"status":"RUNNING","x":1e999999}',
        '{"status":"RUNNING","x":-1E+999999}', '{"status":"RUNNING","x":1e-999999}'
    ],
    'they come back byte for byte'
);
SELECT is((SELECT outcome FROM executions WHERE id = 'e'), '1e999999', 'the outcome is the number as it was written');
SELECT is(ARRAY(SELECT DISTINCT status FROM executions), '{RUNNING}', 'the status of all is read');

SELECT * FROM finish();
