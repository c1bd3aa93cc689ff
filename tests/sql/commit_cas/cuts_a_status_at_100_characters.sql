SELECT plan(6);

DO $$
BEGIN
    PERFORM harel_commit_cas('a', 'd', format('{"status": "%s"}', repeat('x', 100)), 0);
    PERFORM harel_commit_cas('b', 'd', format('{"status": "%s"}', repeat('x', 101)), 0);
    PERFORM harel_commit_cas('c', 'd', format('{"status": "%s"}', repeat('é', 100000)), 0);
    PERFORM harel_commit_cas('d', 'd', format('{"status": "DONE%s"}', repeat(' ', 100)), 0);
END
$$;

SELECT is((SELECT status FROM executions WHERE id = 'a'), repeat('x', 100), '100 characters stay');
SELECT is((SELECT status FROM executions WHERE id = 'b'), repeat('x', 100), 'the 101st is cut off');
SELECT is((SELECT status FROM executions WHERE id = 'c'), repeat('é', 100), 'characters are counted, not bytes');
SELECT is(harel_load('b'), format('{"status": "%s"}', repeat('x', 101)), 'the data keeps all of it');
SELECT is((SELECT finished_at FROM executions WHERE id = 'd'), NULL, 'a status that begins like a final one is not final');
SELECT is(
    ARRAY(SELECT id FROM harel_list(p_statuses => ARRAY[repeat('x', 100)])), '{a,b}', 'and the listing finds what is kept'
);

SELECT * FROM finish();
