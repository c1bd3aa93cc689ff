SELECT plan(6);

DO $$
BEGIN
    PERFORM harel_commit_cas(id, definition, json_build_object('status', status, 'parent_id', parent)::text, 0)
    FROM (VALUES
        ('a', 'door', 'RUNNING', NULL), ('b', 'door', 'PENDING', NULL), ('c', 'door', 'RUNNING', 'z'),
        ('d', 'door', 'DONE', NULL), ('e', 'light', 'SUSPENDED', NULL), ('f', 'light', 'FAILED', NULL)
    ) AS v (id, definition, status, parent);
END
$$;
CREATE FUNCTION pg_temp.try(p_args text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_dry integer;
    v_unchanged boolean;
    v_count integer;
    v_ids text;
BEGIN
    EXECUTE format('SELECT harel_cancel_all(%s, p_dry_run => true)', p_args) INTO v_dry;
    v_unchanged := (SELECT bool_and(version = 1) FROM executions);
    EXECUTE format('SELECT harel_cancel_all(%s)', p_args) INTO v_count;
    v_ids := (SELECT string_agg(id, '' ORDER BY id) FROM executions WHERE version = 2 AND status = 'CANCELLED');
    RAISE EXCEPTION SQLSTATE 'UNDO1';
EXCEPTION WHEN SQLSTATE 'UNDO1' THEN
    RETURN concat_ws(' ', v_dry, v_count, v_ids, v_unchanged);
END
$$;

SELECT is(pg_temp.try('p_definition_id => NULL'), '4 4 abce t', 'without a filter all that are not at their end');
SELECT is(pg_temp.try($$'door'$$), '3 3 abc t', 'of a definition');
SELECT is(pg_temp.try($$NULL, '{SUSPENDED,FAILED}'$$), '1 1 e t', 'of some statuses');
SELECT is(pg_temp.try('NULL, NULL, true'), '3 3 abe t', 'roots only');
SELECT is(pg_temp.try($$'door', '{RUNNING}', true$$), '1 1 a t', 'of all three');
SELECT is(pg_temp.try($$'window'$$), '0 0 t', 'of an unknown definition none');

SELECT * FROM finish();
