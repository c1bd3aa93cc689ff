SELECT plan(4);

CREATE SCHEMA trap;
CREATE TABLE trap.executions (id text, definition_id text, data text, version integer);
CREATE TABLE pg_temp.executions (id text, definition_id text, data text, version integer);
CREATE FUNCTION trap.octet_length(text) RETURNS integer LANGUAGE sql AS 'SELECT 0';
DO $$ BEGIN PERFORM set_config('search_path', 'trap, pg_catalog, ' || current_setting('search_path'), true); END $$;

SELECT is(harel_commit_cas('e', 'd', '{}', 0), true, 'a commit is not led astray');
SELECT is((SELECT count(*) FROM trap.executions), 0::bigint, 'by a table of the caller');
SELECT is((SELECT count(*) FROM pg_temp.executions), 0::bigint, 'nor by a temporary one');
SELECT is(harel_load('e'), '{}', 'and a load finds it');

SELECT * FROM finish();
