SELECT plan(5);

SELECT is(harel_commit_cas('a', 'd', '{"status":"PENDING","status":"RUNNING"}', 0), true, 'duplicate keys commit');
SELECT is((SELECT status FROM executions WHERE id = 'a'), 'RUNNING', 'the last status counts');
SELECT is(
    harel_commit_cas('b', 'd', '{"status":"PENDING","x":"\u0000","status":"RUNNING"}', 0), true,
    'and so do those beside a NUL escape'
);
SELECT is((SELECT status FROM executions WHERE id = 'b'), 'RUNNING', 'the last status counts there too');
SELECT is(harel_load('a'), '{"status":"PENDING","status":"RUNNING"}', 'the data keeps both');

SELECT * FROM finish();
