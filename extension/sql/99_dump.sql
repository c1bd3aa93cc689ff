-- pg_dump takes the rows of an extension's tables only where they are registered. As a plain script the store belongs
-- to no extension and is dumped as it is: then there is nothing to register. The registers of the queue start anew: a
-- floor that was advanced after the snapshot of the dump would hide what the dump holds.
DO $$
DECLARE
    v_relation regclass;
BEGIN
    FOR v_relation IN
        SELECT d.objid
        FROM pg_catalog.pg_extension e
        JOIN pg_catalog.pg_depend d
            ON d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.refobjid = e.oid AND d.deptype = 'e'
        JOIN pg_catalog.pg_class c
            ON d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND c.oid = d.objid
        WHERE e.extname = 'harel'
            AND c.relnamespace = '@extschema@'::pg_catalog.regnamespace
            AND c.relkind IN ('r', 'S')
            AND (c.relkind <> 'S' OR NOT pg_catalog.starts_with(c.relname, 'transport_'))
        ORDER BY d.objid
    LOOP
        PERFORM pg_catalog.pg_extension_config_dump(v_relation, '');
    END LOOP;
END
$$;
