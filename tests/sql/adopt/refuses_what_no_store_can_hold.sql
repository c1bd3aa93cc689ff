SELECT plan(8);

CREATE SCHEMA other;
CREATE TABLE other.executions (id text, definition_id text, data text, version int);
CREATE TABLE other.outbox (seq bigint, target_id text, event text);
CREATE TABLE other.processed_events (execution_id text, event_id text);
CREATE TABLE other.timers (execution_id text, path text, fire_at double precision);
CREATE TABLE other.spawns (seq bigint, parent_id text, child_id text, root_path text, context text);
CREATE TABLE other.trace (execution_id text, idx int, entry text);
CREATE FUNCTION pg_temp.adopting(p_rows text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE p_rows;
    PERFORM harel_adopt('other');
    RETURN 'adopted';
EXCEPTION WHEN OTHERS THEN
    RETURN sqlstate;
END
$$;

SELECT is(pg_temp.adopting($$INSERT INTO other.executions VALUES ('a', 'd', 'no json', 1)$$), 'ST003', 'data');
SELECT is(pg_temp.adopting($$INSERT INTO other.executions VALUES ('a', 'd', '{}', 0)$$), 'ST002', 'a version');
SELECT is(pg_temp.adopting($$INSERT INTO other.executions VALUES (repeat('a', 1001), 'd', '{}', 1)$$), 'ST001', 'an id');
SELECT is(pg_temp.adopting($$INSERT INTO other.outbox VALUES (1, '', 'e')$$), 'ST001', 'a target');
SELECT is(pg_temp.adopting($$INSERT INTO other.timers VALUES ('a', 'p', 'NaN')$$), 'ST006', 'a time');
SELECT is(pg_temp.adopting($$INSERT INTO other.timers VALUES ('a', 'p', NULL)$$), 'ST006', 'no time');
SELECT is(
    (SELECT count(*) FROM executions) + (SELECT count(*) FROM outbox) + (SELECT count(*) FROM timers), 0::bigint,
    'nothing is taken over'
);
SELECT is(pg_temp.adopting('SELECT 1'), 'adopted', 'without such rows the tables are');

SELECT * FROM finish();
