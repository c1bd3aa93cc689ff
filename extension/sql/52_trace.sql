-- Writers of one execution's trace take turns: whoever numbers an entry by a snapshot from before another's entries
-- could give a number again that the ring has dropped meanwhile. They hold the lock of the execution's row, or, before
-- its first save, the advisory lock that stands for it.
CREATE FUNCTION @extschema@.harel__lock_new_trace(p_id text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('harel.trace:' || p_id, 0));
END
$$;
COMMENT ON FUNCTION @extschema@.harel__lock_new_trace(text)
IS 'Internal. Waits for the other writers of the trace of an execution that has no row yet.';
REVOKE ALL ON FUNCTION @extschema@.harel__lock_new_trace(text) FROM PUBLIC;

-- Volatile, or the planner would call it to know what it returns.
CREATE FUNCTION @extschema@.harel__refuse_trace(p_id text) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = 'ST002',
        MESSAGE = 'a trace has no entry after number 2147483647',
        DETAIL = format('Execution %L.', left(p_id, 40)),
        HINT = 'Go on without a trace, or with another execution in its place.';
END
$$;
COMMENT ON FUNCTION @extschema@.harel__refuse_trace(text)
IS 'Internal. Raises ST002 for a trace whose numbers are used up.';
REVOKE ALL ON FUNCTION @extschema@.harel__refuse_trace(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__push_trace(p_id text, p_entry text, p_max integer) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
DECLARE
    v_idx integer;
BEGIN
    IF p_max < 0 THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST002',
            MESSAGE = 'the cap of a trace must not be negative',
            DETAIL = format('Execution %L: the cap is %s.', p_id, p_max),
            HINT = 'Pass the number of entries to keep, or 0 or NULL to keep all.';
    END IF;
    IF to_regclass('pg_catalog.pg_dist_partition') IS NULL THEN
        INSERT INTO @extschema@.trace (execution_id, idx, entry, recorded_at)
        VALUES (
            p_id,
            coalesce(1 + (
                SELECT CASE WHEN t.idx < 2147483647 THEN t.idx ELSE @extschema@.harel__refuse_trace(p_id) END
                FROM @extschema@.trace t
                WHERE t.execution_id = p_id
                ORDER BY t.idx DESC
                LIMIT 1
            ), 0),
            p_entry,
            now()
        )
        RETURNING idx INTO v_idx;
    ELSE
        -- Citus takes no query within an INSERT.
        SELECT t.idx INTO v_idx FROM @extschema@.trace t WHERE t.execution_id = p_id ORDER BY t.idx DESC LIMIT 1;
        IF v_idx = 2147483647 THEN
            PERFORM @extschema@.harel__refuse_trace(p_id);
        END IF;
        v_idx := coalesce(v_idx + 1, 0);
        INSERT INTO @extschema@.trace (execution_id, idx, entry, recorded_at) VALUES (p_id, v_idx, p_entry, now());
    END IF;
    -- Each entry pushes out the one p_max numbers before it. More go only where the cap was lowered or a number is
    -- missing: the newest of them is looked for first, because to delete a range that is open to below is to step
    -- over everything that was pushed out since the last vacuum.
    IF p_max > 0 AND v_idx >= p_max THEN
        DELETE FROM @extschema@.trace t WHERE t.execution_id = p_id AND t.idx = v_idx - p_max;
        PERFORM FROM @extschema@.trace t
        WHERE t.execution_id = p_id AND t.idx < v_idx - p_max
        ORDER BY t.idx DESC
        LIMIT 1;
        IF FOUND THEN
            DELETE FROM @extschema@.trace t WHERE t.execution_id = p_id AND t.idx < v_idx - p_max;
        END IF;
    END IF;
    RETURN v_idx;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__push_trace(text, text, integer)
IS 'Internal. Appends a trace entry for a caller that holds the lock of the trace; returns its idx.';
REVOKE ALL ON FUNCTION @extschema@.harel__push_trace(text, text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_append_trace(p_id text, p_entry text, p_max integer DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
BEGIN
    IF (octet_length(p_id) BETWEEN 1 AND 1000) IS NOT TRUE THEN
        PERFORM @extschema@.harel__refuse_key(p_id, 'execution id', p_id);
    END IF;
    IF p_entry IS NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST003',
            MESSAGE = 'a trace entry must not be NULL',
            DETAIL = format('Execution %L.', p_id),
            HINT = 'Pass the entry as a text, for instance JSON.';
    END IF;
    PERFORM FROM @extschema@.executions e WHERE e.id = p_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM @extschema@.harel__lock_new_trace(p_id);
        -- The first save may have come while this waited.
        PERFORM FROM @extschema@.executions e WHERE e.id = p_id FOR NO KEY UPDATE;
    END IF;
    RETURN @extschema@.harel__push_trace(p_id, p_entry, p_max);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_append_trace(text, text, integer)
IS
'Appends an entry to the trace of an execution outside a commit and returns its idx; the last p_max entries are '
'kept, by their numbers (0 or NULL: all). Raises ST001, ST002 or ST003.';
REVOKE ALL ON FUNCTION @extschema@.harel_append_trace(text, text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_read_trace(p_id text) RETURNS TABLE (idx integer, entry text)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
BEGIN
    RETURN QUERY
    SELECT t.idx, t.entry
    FROM @extschema@.trace t
    WHERE t.execution_id = p_id
    ORDER BY t.idx;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_read_trace(text)
IS 'The trace of an execution, oldest entry first, each with the idx that it was given.';
REVOKE ALL ON FUNCTION @extschema@.harel_read_trace(text) FROM PUBLIC;
