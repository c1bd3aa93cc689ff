-- A node that joins a cluster, or whose functions an upgrade has made anew.
DO $$
DECLARE
    v_node integer;
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_extension e WHERE e.extname = 'citus') THEN
        EXECUTE 'SELECT l.groupid FROM pg_catalog.pg_dist_local_group l' INTO v_node;
        IF v_node <> 0 OR @extschema@.harel__is_distributed() THEN
            PERFORM @extschema@.harel__prepare_node();
        END IF;
    END IF;
END
$$;
