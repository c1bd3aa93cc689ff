SELECT plan(5);

SELECT is(
    harel_commit_cas('e', 'd', '{"status":"RUNNING","outcome":"\ud83d\ude00\uD834\uDD1E","x":"\ud83d\ude00"}', 0), true,
    'data with surrogate pairs commits'
);
SELECT is((SELECT outcome FROM executions), chr(128512) || chr(119070), 'the outcome has the characters');
SELECT is(
    harel_load('e'), '{"status":"RUNNING","outcome":"\ud83d\ude00\uD834\uDD1E","x":"\ud83d\ude00"}',
    'and the data its escapes'
);
SELECT is(
    harel_commit_cas('e', 'd', '{"outcome":"\ud83d\ude00\uD834\uDD1E","x":"\u0000"}', 1), true,
    'and so does data that also has a NUL'
);
SELECT is((SELECT outcome FROM executions), chr(128512) || chr(119070), 'the outcome has the characters here too');

SELECT * FROM finish();
