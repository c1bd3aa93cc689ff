-- PUBLIC has nothing: each function revokes what PostgreSQL grants by default. Whoever creates the extension may do
-- everything and let others in, also where the server's superuser comes to own the objects (a trusted extension).
CREATE FUNCTION @extschema@.harel_grant(p_role name, p_access text DEFAULT 'worker') RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_function regprocedure;
BEGIN
    IF p_access IS NULL OR p_access NOT IN ('worker', 'reader', 'none') THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST009',
            MESSAGE = 'unknown kind of access',
            DETAIL = format(
                'Role %s, access %s.',
                coalesce(quote_ident(p_role), 'NULL'), coalesce(quote_literal(p_access), 'NULL')
            ),
            HINT = 'Pass worker (loads, lists and commits), reader (loads and lists) or none.';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = p_role) THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST009',
            MESSAGE = 'the role does not exist',
            DETAIL = format('Role %s.', coalesce(quote_ident(p_role), 'NULL')),
            HINT = 'Create it first, with CREATE ROLE.';
    END IF;

    EXECUTE format(
        'REVOKE ALL ON @extschema@.executions, @extschema@.outbox, @extschema@.processed_events, '
        '@extschema@.timers, @extschema@.spawns, @extschema@.trace FROM %I', p_role
    );
    EXECUTE format('REVOKE ALL ON SEQUENCE @extschema@.outbox_seq_seq, @extschema@.spawns_seq_seq FROM %I', p_role);
    IF p_access <> 'none' THEN
        EXECUTE format('GRANT USAGE ON SCHEMA @extschema@ TO %I', p_role);
        -- The functions run with the rights of their caller, who therefore needs the tables too.
        EXECUTE format(
            'GRANT %s ON @extschema@.executions, @extschema@.outbox, @extschema@.processed_events, '
            '@extschema@.timers, @extschema@.spawns, @extschema@.trace TO %I',
            CASE p_access WHEN 'worker' THEN 'SELECT, INSERT, UPDATE, DELETE' ELSE 'SELECT' END, p_role
        );
    END IF;
    IF p_access = 'worker' THEN
        EXECUTE format('GRANT USAGE ON SEQUENCE @extschema@.outbox_seq_seq, @extschema@.spawns_seq_seq TO %I', p_role);
    END IF;

    -- A reader may call what does not write, which the catalog says of each function.
    FOR v_function IN
        SELECT p.oid::regprocedure
        FROM pg_proc p
        WHERE p.pronamespace = '@extschema@'::regnamespace
            AND pg_catalog.starts_with(p.proname, 'harel_')
            AND p.proname <> 'harel_grant'
    LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM %I', v_function, p_role);
        IF p_access = 'worker' OR p_access = 'reader' AND (
            SELECT p.provolatile <> 'v' FROM pg_proc p WHERE p.oid = v_function
        ) THEN
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', v_function, p_role);
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_grant(name, text)
IS
'Gives a role exactly this access to the store: worker (loads, lists and commits), reader (loads and lists) or '
'none. Raises ST009.';
REVOKE ALL ON FUNCTION @extschema@.harel_grant(name, text) FROM PUBLIC;

DO $$
DECLARE
    v_object text;
BEGIN
    FOR v_object IN
        SELECT format('TABLE %s', c.oid::regclass)
        FROM pg_catalog.pg_class c
        WHERE c.relnamespace = '@extschema@'::pg_catalog.regnamespace
            AND c.relname IN ('executions', 'outbox', 'processed_events', 'timers', 'spawns', 'trace')
        UNION ALL
        SELECT format('SEQUENCE %s', c.oid::regclass)
        FROM pg_catalog.pg_class c
        WHERE c.relnamespace = '@extschema@'::pg_catalog.regnamespace
            AND c.relname IN ('outbox_seq_seq', 'spawns_seq_seq')
        UNION ALL
        SELECT format('FUNCTION %s', p.oid::regprocedure)
        FROM pg_catalog.pg_proc p
        WHERE p.pronamespace = '@extschema@'::pg_catalog.regnamespace AND pg_catalog.starts_with(p.proname, 'harel_')
    LOOP
        EXECUTE format('GRANT ALL ON %s TO @extowner@ WITH GRANT OPTION', v_object);
    END LOOP;
END
$$;
