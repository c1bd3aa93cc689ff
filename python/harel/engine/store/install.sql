DO $install$
DECLARE
    v_schema text := coalesce(nullif({schema}, ''), current_schema());
    v_search_path text := pg_catalog.current_setting('search_path');
    -- Why it is not the extension.
    v_reason text;
BEGIN
    -- Only one at a time, until the end of this transaction: whoever comes second finds the store.
    PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('harel.install', 0));
    IF v_schema IS NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'invalid_schema_name',
            MESSAGE = 'no schema to create the store in',
            DETAIL = 'No schema of the search path exists.',
            HINT = 'Name the schema.';
    END IF;
    IF pg_catalog.to_regprocedure(pg_catalog.format('%I.harel_version()', v_schema)) IS NOT NULL THEN
        RETURN;
    END IF;
    IF pg_catalog.to_regnamespace(pg_catalog.quote_ident(v_schema)) IS NULL THEN
        EXECUTE pg_catalog.format('CREATE SCHEMA %I', v_schema);
    END IF;
    -- A database holds an extension once; a further store in another schema comes from the script.
    v_reason := CASE
        WHEN EXISTS (SELECT FROM pg_catalog.pg_extension e WHERE e.extname = 'harel')
            THEN 'the database has the extension, in another schema'
        WHEN NOT EXISTS (
            SELECT FROM pg_catalog.pg_available_extension_versions a WHERE a.name = 'harel' AND a.version = {version}
        ) THEN 'the server does not have the files of the extension'
    END;
    IF v_reason IS NULL THEN
        BEGIN
            EXECUTE pg_catalog.format('CREATE EXTENSION harel SCHEMA %I VERSION %L', v_schema, {version});
            EXECUTE pg_catalog.format('SELECT %I.harel_protect()', v_schema);
            RAISE NOTICE 'created as the extension harel % in schema %', {version}, v_schema;
            RETURN;
        EXCEPTION WHEN insufficient_privilege THEN
            v_reason := 'this role may not create extensions in the database';
        END;
    END IF;
    EXECUTE pg_catalog.replace({script}, '@extschema@', pg_catalog.quote_ident(v_schema));
    EXECUTE pg_catalog.format('SELECT %I.harel_protect()', v_schema);
    -- The script has pinned it for the rest of the transaction, which may be that of somebody else.
    PERFORM pg_catalog.set_config('search_path', v_search_path, true);
    RAISE NOTICE 'created by the script of harel % in schema %, and not as an extension: %', {version}, v_schema, v_reason;
END
$install$;
