SELECT plan(10);

DO $$
BEGIN
    PERFORM harel_commit_cas(id, definition, json_build_object('status', status, 'parent_id', parent)::text, 0)
    FROM (VALUES
        ('a', 'door', 'RUNNING', NULL), ('b', 'door', 'PENDING', NULL), ('c', 'door', 'RUNNING', 'z'),
        ('d', 'door', 'DONE', NULL), ('e', 'light', 'RUNNING', NULL), ('f', 'light', 'SUSPENDED', NULL)
    ) AS v (id, definition, status, parent);
END
$$;
-- Each filter in a transaction of its own: what it counts without and with a dry run, and whom it changes.
CREATE FUNCTION pg_temp.try(p_args text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_dry integer;
    v_unchanged boolean;
    v_count integer;
    v_ids text;
BEGIN
    EXECUTE format('SELECT harel_suspend_all(%s, p_dry_run => true)', p_args) INTO v_dry;
    v_unchanged := (SELECT bool_and(version = 1) FROM executions);
    EXECUTE format('SELECT harel_suspend_all(%s)', p_args) INTO v_count;
    v_ids := (SELECT string_agg(id, '' ORDER BY id) FROM executions WHERE version = 2 AND status = 'SUSPENDED');
    RAISE EXCEPTION SQLSTATE 'UNDO1';
EXCEPTION WHEN SQLSTATE 'UNDO1' THEN
    RETURN concat_ws(' ', v_dry, v_count, v_ids, v_unchanged);
END
$$;

SELECT is(pg_temp.try('p_definition_id => NULL'), '4 4 abce t', 'without a filter all that can be');
SELECT is(pg_temp.try($$'door'$$), '3 3 abc t', 'of a definition');
SELECT is(pg_temp.try($$NULL, '{RUNNING}'$$), '3 3 ace t', 'of a status');
SELECT is(pg_temp.try($$NULL, '{RUNNING,PENDING,DONE,SUSPENDED}'$$), '4 4 abce t', 'of some, of which not all can be');
SELECT is(pg_temp.try($$'door', '{PENDING}'$$), '1 1 b t', 'of both');
SELECT is(pg_temp.try('NULL, NULL, true'), '3 3 abe t', 'roots only');
SELECT is(pg_temp.try($$'door', '{RUNNING}', true$$), '1 1 a t', 'of all three');
SELECT is(pg_temp.try($$'window'$$), '0 0 t', 'of an unknown definition none');
SELECT is(pg_temp.try($$NULL, '{}'$$), '0 0 t', 'of no status none');
SELECT is(pg_temp.try('NULL, NULL, NULL'), '4 4 abce t', 'NULL for roots only is no filter');

SELECT * FROM finish();
