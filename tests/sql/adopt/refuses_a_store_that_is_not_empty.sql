SELECT plan(2);

CREATE SCHEMA other;
CREATE TABLE other.executions (id text, definition_id text, data text, version int);
CREATE TABLE other.outbox (seq bigint, target_id text, event text);
CREATE TABLE other.processed_events (execution_id text, event_id text);
CREATE TABLE other.timers (execution_id text, path text, fire_at double precision);
CREATE TABLE other.spawns (seq bigint, parent_id text, child_id text, root_path text, context text);
CREATE TABLE other.trace (execution_id text, idx int, entry text);
INSERT INTO other.executions VALUES ('a', 'd', '{}', 1);
DO $$ BEGIN PERFORM harel_commit_cas('e', 'd', '{}', 0); END $$;

SELECT throws_ok($$SELECT harel_adopt('other')$$, 'ST014', NULL, 'what is there could be the same execution');
SELECT is(ARRAY(SELECT id FROM executions), '{e}', 'it stays as it was');

SELECT * FROM finish();
