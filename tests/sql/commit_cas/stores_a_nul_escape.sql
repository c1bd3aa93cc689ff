SELECT plan(7);

SELECT is(
    harel_commit_cas('e', 'd', '{"status":"RUNNING","outcome":"a\u0000b","active_path":"p\u0000\u0000","x":"\u0000","\u0000":1}', 0),
    true, 'data with the escape of NUL commits'
);
SELECT is(
    harel_load('e'), '{"status":"RUNNING","outcome":"a\u0000b","active_path":"p\u0000\u0000","x":"\u0000","\u0000":1}',
    'comes back byte for byte'
);
SELECT is((SELECT status FROM executions), 'RUNNING', 'its status is read');
SELECT is((SELECT outcome FROM executions), 'a' || chr(65533) || 'b', 'a NUL in the outcome is replaced');
SELECT is((SELECT active_path FROM executions), 'p' || chr(65533) || chr(65533), 'and each of two in the active path');
SELECT is(harel_commit_cas('e', 'd', '{"status":"DONE","x":"\u0000"}', 1), true, 'a later version with it commits too');
SELECT is((SELECT status || ' ' || (finished_at = now()) FROM executions), 'DONE true', 'and comes to its end');

SELECT * FROM finish();
