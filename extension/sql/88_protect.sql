-- DROP EXTENSION takes all rows with it and asks nobody, unless an object that is not of the extension depends on it. A
-- view of the name below is such an object, and PostgreSQL's refusal shows the name.
CREATE FUNCTION @extschema@.harel_protect(p_on boolean DEFAULT true) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_on IS FALSE THEN
        DROP VIEW IF EXISTS @extschema@.executions_are_kept;
        RETURN;
    END IF;
    IF to_regclass('@extschema@.executions_are_kept') IS NOT NULL THEN
        RETURN;
    END IF;
    CREATE VIEW @extschema@.executions_are_kept AS
    SELECT count(*) AS executions FROM @extschema@.executions;
    COMMENT ON VIEW @extschema@.executions_are_kept
    IS 'Makes DROP EXTENSION harel refuse to remove the store, until harel_protect(false) has been called.';
    -- Whoever owns the store must be able to take it away again.
    EXECUTE format(
        'ALTER VIEW %s OWNER TO %I',
        '@extschema@.executions_are_kept'::regclass,
        (SELECT pg_get_userbyid(c.relowner) FROM pg_class c WHERE c.oid = '@extschema@.executions'::regclass)
    );
    -- In the script of an upgrade it has become a member, which would go with the others.
    IF EXISTS (
        SELECT FROM pg_depend d
        WHERE d.classid = 'pg_class'::regclass
            AND d.objid = '@extschema@.executions_are_kept'::regclass
            AND d.deptype = 'e'
    ) THEN
        ALTER EXTENSION harel DROP VIEW @extschema@.executions_are_kept;
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_protect(boolean)
IS
'Makes DROP EXTENSION harel refuse to remove the store, or with false lets it again, by a view that depends on the '
'table of executions. harel_grant() calls it.';
REVOKE ALL ON FUNCTION @extschema@.harel_protect(boolean) FROM PUBLIC;
