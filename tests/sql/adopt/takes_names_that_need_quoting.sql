SELECT plan(2);

CREATE SCHEMA "o'ther ""x%I.y";
SET LOCAL search_path = "o'ther ""x%I.y", tap;
CREATE TABLE executions (id text, definition_id text, data text, version int);
CREATE TABLE outbox (seq bigserial, target_id text, event text);
CREATE TABLE processed_events (execution_id text, event_id text);
CREATE TABLE timers (execution_id text, path text, fire_at double precision);
CREATE TABLE spawns (seq bigserial, parent_id text, child_id text, root_path text, context text);
CREATE TABLE trace (execution_id text, idx int, entry text);
INSERT INTO executions VALUES ('a', 'd', '{}', 1);
INSERT INTO outbox (target_id, event) VALUES ('a', 'e');
SET LOCAL search_path = public, tap;

SELECT is(harel_adopt('o''ther "x%I.y'), 2::bigint, 'in a schema of any name');
SELECT is(harel_load('a'), '{}', 'what it holds is there');

SELECT * FROM finish();
