SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('a', 'd', '{"status": "RUNNING", "outcome": "fine"}', 0);
    PERFORM harel_commit_cas('b1', 'd', '{"status": "RUNNING", "x": "\u0000"}', 0);
    PERFORM harel_commit_cas('b2', 'd', '{"status": "RUNNING", "x": "\ud800"}', 0);
    PERFORM harel_commit_cas('b3', 'd', '{"status": "RUNNING", "x": 1e999999}', 0);
    PERFORM harel_commit_cas('b4', 'd', '"x"', 0);
    PERFORM harel_commit_cas('b5', 'd', format('{"status": "%s"}', repeat('y', 5000)), 0);
    PERFORM harel_commit_cas('b6', 'd', '{"status": "a\u0000b", "outcome": "\udfff"}', 0);
    PERFORM harel_commit_cas('c', 'd', '{"status": "RUNNING", "outcome": "fine"}', 0);
END
$$;

SELECT is(ARRAY(SELECT id FROM harel_list()), '{a,b1,b2,b3,b4,b5,b6,c}', 'all are listed');
SELECT is(
    ARRAY(SELECT id FROM harel_list('d', '{RUNNING}', true)), '{a,b1,b2,b3,c}', 'and those asked for by a filter'
);
SELECT is(ARRAY(SELECT outcome FROM harel_list() WHERE id IN ('a', 'c')), '{fine,fine}', 'with their fields');
SELECT is(
    ARRAY(SELECT id FROM harel_list(p_statuses => ARRAY['a' || chr(65533) || 'b'])), '{b6}',
    'a status with a NUL is listed under what replaces it'
);

SELECT * FROM finish();
