-- PUBLIC has nothing: each function revokes what PostgreSQL grants by default. Whoever creates the store owns it, may
-- do everything and lets others in.
--
-- What Citus does not bring to the other nodes, because it belongs to an extension.
CREATE FUNCTION @extschema@.harel__grant_here(p_role name, p_access text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_relation regclass;
    v_function regprocedure;
BEGIN
    -- The functions run with the rights of their caller, who therefore needs the tables too.
    FOREACH v_relation IN ARRAY ARRAY[
        '@extschema@.executions', '@extschema@.outbox', '@extschema@.processed_events',
        '@extschema@.timers', '@extschema@.spawns', '@extschema@.trace',
        '@extschema@.transport_groups', '@extschema@.transport_messages', '@extschema@.dead_letters',
        '@extschema@.shards', '@extschema@.shard_receipts'
    ]::regclass[] LOOP
        EXECUTE format('REVOKE ALL ON %s FROM %I', v_relation, p_role);
        IF p_access = 'worker' THEN
            EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I', v_relation, p_role);
        ELSIF p_access = 'reader' THEN
            EXECUTE format('GRANT SELECT ON %s TO %I', v_relation, p_role);
        END IF;
    END LOOP;
    IF p_access <> 'none' THEN
        EXECUTE format('GRANT USAGE ON SCHEMA %s TO %I', '@extschema@'::regnamespace, p_role);
    END IF;
    FOREACH v_relation IN ARRAY ARRAY[
        '@extschema@.outbox_seq_seq', '@extschema@.spawns_seq_seq', '@extschema@.shards_joined',
        '@extschema@.transport_floor', '@extschema@.transport_tend_at', '@extschema@.transport_lift_at',
        '@extschema@.transport_asleep_until'
    ]::regclass[] LOOP
        EXECUTE format('REVOKE ALL ON SEQUENCE %s FROM %I', v_relation, p_role);
        IF p_access = 'worker' THEN
            EXECUTE format('GRANT USAGE, SELECT, UPDATE ON SEQUENCE %s TO %I', v_relation, p_role);
        ELSIF p_access = 'reader' THEN
            EXECUTE format('GRANT SELECT ON SEQUENCE %s TO %I', v_relation, p_role);
        END IF;
    END LOOP;
    -- A reader may call what does not write, which the catalog says of each function.
    FOR v_function IN
        SELECT p.oid::regprocedure
        FROM pg_proc p
        WHERE p.pronamespace = '@extschema@'::regnamespace
            AND pg_catalog.starts_with(p.proname, 'harel_')
            AND p.proname NOT IN ('harel_grant', 'harel_adopt', 'harel_protect', 'harel_distribute')
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
COMMENT ON FUNCTION @extschema@.harel__grant_here(name, text)
IS 'Internal. harel_grant(), on this node.';
REVOKE ALL ON FUNCTION @extschema@.harel__grant_here(name, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__roles() RETURNS TABLE (name name, access text)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT r.rolname, CASE WHEN bool_or(p.proname = 'harel_commit_batch') THEN 'worker' ELSE 'reader' END
    FROM pg_proc p
    CROSS JOIN LATERAL aclexplode(p.proacl) a
    JOIN pg_roles r ON r.oid = a.grantee
    WHERE p.pronamespace = '@extschema@'::regnamespace
        AND p.proname IN ('harel_commit_batch', 'harel_load')
        AND a.privilege_type = 'EXECUTE'
        AND a.grantee <> p.proowner
    GROUP BY r.rolname;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__roles()
IS 'Internal. The roles that harel_grant() has let in, and as what.';
REVOKE ALL ON FUNCTION @extschema@.harel__roles() FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_grant(p_role name, p_access text DEFAULT 'worker') RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_access IS NULL OR p_access NOT IN ('worker', 'reader', 'none') THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST009',
            MESSAGE = 'unknown kind of access',
            DETAIL = format(
                'Role %s, access %s.',
                coalesce(quote_ident(p_role), 'NULL'), coalesce(quote_literal(left(p_access, 40)), 'NULL')
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

    IF @extschema@.harel__is_distributed() THEN
        -- First, as the other nodes have transactions of their own, which must not wait for this one.
        PERFORM @extschema@.harel__grant_elsewhere(p_role, p_access);
    END IF;

    -- A store that others use is not to be dropped by mistake.
    IF p_access <> 'none' THEN
        PERFORM @extschema@.harel_protect();
    END IF;

    PERFORM @extschema@.harel__grant_here(p_role, p_access);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_grant(name, text)
IS
'Gives a role exactly this access to the store: worker (loads, lists and commits), reader (loads and lists) or none. '
'A store that others use is protected from DROP EXTENSION: see harel_protect(). Of a store on several nodes it is to '
'be called on the coordinator, and again after a node was added. Raises ST009.';
REVOKE ALL ON FUNCTION @extschema@.harel_grant(name, text) FROM PUBLIC;
