CREATE FUNCTION @extschema@.harel_pending_spawns(p_limit integer DEFAULT NULL)
RETURNS TABLE (seq bigint, parent_id text, child_id text, root_path text, context text)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY
        SELECT s.seq, s.parent_id, s.child_id, s.root_path, s.context
        FROM @extschema@.spawns s
        ORDER BY s.parent_id, s.version, s.ord, s.seq
        LIMIT p_limit;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT s.seq, s.parent_id, s.child_id, s.root_path, s.context
    FROM @extschema@.spawns s
    ORDER BY s.seq
    LIMIT p_limit;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_pending_spawns(integer)
IS 'The child executions waiting to be created, oldest first, at most p_limit (NULL: all). Raises ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_pending_spawns(integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_ack_spawn(p_seq bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
    v_count integer;
BEGIN
    IF p_seq IS NULL THEN
        PERFORM @extschema@.harel__refuse_seq();
    END IF;
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_ack_spawn(p_seq);
    END IF;
    DELETE FROM @extschema@.spawns s WHERE s.seq = p_seq;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_ack_spawn(bigint)
IS
'Removes the request for a child that has been created; returns 1, or 0 where it was not pending. Raises ST001 '
'for NULL.';
REVOKE ALL ON FUNCTION @extschema@.harel_ack_spawn(bigint) FROM PUBLIC;
