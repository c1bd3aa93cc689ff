CREATE FUNCTION @extschema@.harel_version() RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN '1.1';
END
$$;
COMMENT ON FUNCTION @extschema@.harel_version()
IS 'The version of this store, whether it was created as an extension or by the plain script.';
REVOKE ALL ON FUNCTION @extschema@.harel_version() FROM PUBLIC;
