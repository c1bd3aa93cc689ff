
-- Who was let in under 1.0 may call what has been added since, or was dropped to be made anew.
DO $$
DECLARE
    v_role record;
BEGIN
    FOR v_role IN SELECT * FROM @extschema@.harel__roles() LOOP
        PERFORM @extschema@.harel_grant(v_role.name, v_role.access);
    END LOOP;
END
$$;

-- Internal functions that 1.1 calls by other arguments.
DROP FUNCTION IF EXISTS @extschema@.harel__control(text[], text);
DROP FUNCTION IF EXISTS @extschema@.harel__set_member(text, text, text, text);
