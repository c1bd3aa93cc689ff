SELECT plan(6);

DO $$ BEGIN PERFORM harel_commit_cas('e', 'd', '{"n": 1}', 0); END $$;

SELECT is(harel_commit_cas('e', 'd', '{}', 2147483648), false, '2147483648 is a conflict');
SELECT is(harel_commit_cas('e', 'd', '{}', 4294967297), false, '4294967297 is a conflict, not version 1');
SELECT is(harel_commit_cas('e', 'd', '{}', 4294967296), false, '4294967296 is a conflict, not a first save');
SELECT is(harel_commit_cas('new', 'd', '{}', 4294967296), false, 'nor one of an unknown execution');
SELECT is(harel_commit_cas('e', 'd', '{}', 9223372036854775807), false, 'the greatest bigint is a conflict');
SELECT is((SELECT array_agg(id || ' ' || version || ' ' || data) FROM executions), '{"e 1 {\"n\": 1}"}', 'nothing is written');

SELECT * FROM finish();
