DO $upgrade$
DECLARE
    v_schema text := coalesce(nullif({schema}, ''), (
        SELECT n.nspname
        FROM pg_catalog.pg_proc p
        JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
        WHERE p.proname = 'harel_version' AND p.pronargs = 0 AND pg_catalog.pg_function_is_visible(p.oid)
    ));
    v_search_path text := pg_catalog.current_setting('search_path');
    v_version text;
BEGIN
    PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('harel.install', 0));
    IF pg_catalog.to_regprocedure(pg_catalog.quote_ident(v_schema) || '.harel_version()') IS NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'undefined_function',
            MESSAGE = 'there is no store to upgrade',
            DETAIL = coalesce('The schema is ' || v_schema || '.', 'No schema is named, and the search path has no store.'),
            HINT = 'Name the schema of the store.';
    END IF;
    EXECUTE pg_catalog.format('SELECT %I.harel_version()', v_schema) INTO v_version;
    IF v_version = {version} THEN
        RETURN;
    END IF;
    IF EXISTS (
        SELECT FROM pg_catalog.pg_extension e
        WHERE e.extname = 'harel' AND e.extnamespace = pg_catalog.quote_ident(v_schema)::pg_catalog.regnamespace
    ) THEN
        EXECUTE pg_catalog.format('ALTER EXTENSION harel UPDATE TO %L', {version});
        EXECUTE pg_catalog.format('SELECT %I.harel_protect()', v_schema);
        RETURN;
    END IF;
    IF v_version <> {previous} THEN
        RAISE EXCEPTION USING
            ERRCODE = 'feature_not_supported',
            MESSAGE = 'there is no way from this version of the store',
            DETAIL = pg_catalog.format('The store is of version %s; this leads from %s to %s.', v_version, {previous}, {version}),
            HINT = 'Use the client that is made for it.';
    END IF;
    EXECUTE pg_catalog.replace({script}, '@extschema@', pg_catalog.quote_ident(v_schema));
    EXECUTE pg_catalog.format('SELECT %I.harel_protect()', v_schema);
    PERFORM pg_catalog.set_config('search_path', v_search_path, true);
END
$upgrade$;
