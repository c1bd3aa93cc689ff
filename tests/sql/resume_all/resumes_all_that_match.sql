SELECT plan(6);

DO $$
BEGIN
    PERFORM harel_commit_cas(id, definition, json_build_object('status', status, 'parent_id', parent)::text, 0)
    FROM (VALUES
        ('a', 'door', 'SUSPENDED', NULL), ('b', 'door', 'SUSPENDED', 'z'), ('c', 'door', 'RUNNING', NULL),
        ('d', 'light', 'SUSPENDED', NULL), ('e', 'light', 'DONE', NULL)
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
    EXECUTE format('SELECT harel_resume_all(%s, p_dry_run => true)', p_args) INTO v_dry;
    v_unchanged := (SELECT bool_and(version = 1) FROM executions);
    EXECUTE format('SELECT harel_resume_all(%s)', p_args) INTO v_count;
    v_ids := (SELECT string_agg(id, '' ORDER BY id) FROM executions WHERE version = 2 AND status = 'RUNNING');
    RAISE EXCEPTION SQLSTATE 'UNDO1';
EXCEPTION WHEN SQLSTATE 'UNDO1' THEN
    RETURN concat_ws(' ', v_dry, v_count, v_ids, v_unchanged);
END
$$;

SELECT is(pg_temp.try('p_definition_id => NULL'), '3 3 abd t', 'without a filter all that are suspended');
SELECT is(pg_temp.try($$'door'$$), '2 2 ab t', 'of a definition');
SELECT is(pg_temp.try($$NULL, '{SUSPENDED}'$$), '3 3 abd t', 'of the status');
SELECT is(pg_temp.try($$NULL, '{RUNNING,DONE}'$$), '0 0 t', 'of others none');
SELECT is(pg_temp.try('NULL, NULL, true'), '2 2 ad t', 'roots only');
SELECT is(pg_temp.try($$'door', '{SUSPENDED}', true$$), '1 1 a t', 'of all three');

SELECT * FROM finish();
