SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"n": 1}', 0);
    PERFORM harel_commit_cas('f', 'd', '{"n": "other"}', 0);
    PERFORM harel_commit_cas('e', 'd', ' {"n":   2}', 1);
END
$$;

SELECT is(harel_load('e'), ' {"n":   2}', 'byte for byte');
SELECT is(harel_load('f'), '{"n": "other"}', 'of the execution asked for');

SELECT * FROM finish();
