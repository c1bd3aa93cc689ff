
-- Who was let in under 1.0 may call what has been added since, or was dropped to be made anew.
DO $$
DECLARE
    v_role record;
BEGIN
    FOR v_role IN
        SELECT r.rolname, bool_or(p.proname = 'harel_commit_batch') AS is_worker
        FROM pg_catalog.pg_proc p
        CROSS JOIN LATERAL pg_catalog.aclexplode(p.proacl) a
        JOIN pg_catalog.pg_roles r ON r.oid = a.grantee
        WHERE p.pronamespace = '@extschema@'::pg_catalog.regnamespace
            AND p.proname IN ('harel_commit_batch', 'harel_load')
            AND a.privilege_type = 'EXECUTE'
            AND a.grantee <> p.proowner
        GROUP BY r.rolname
    LOOP
        PERFORM @extschema@.harel_grant(v_role.rolname, CASE WHEN v_role.is_worker THEN 'worker' ELSE 'reader' END);
    END LOOP;
END
$$;

-- Internal functions that 1.1 calls by other arguments.
DROP FUNCTION IF EXISTS @extschema@.harel__control(text[], text);
DROP FUNCTION IF EXISTS @extschema@.harel__set_member(text, text, text, text);
