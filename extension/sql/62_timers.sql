CREATE FUNCTION @extschema@.harel_due_timers(p_now double precision, p_limit integer DEFAULT NULL)
RETURNS TABLE (execution_id text, path text, fire_at double precision)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF p_now IS NULL OR p_now = 'NaN' THEN
        PERFORM @extschema@.harel__refuse_time('The time to look up due timers for', p_now);
    END IF;
    RETURN QUERY
    SELECT t.execution_id, t.path, t.fire_at
    FROM @extschema@.timers t
    WHERE t.fire_at <= p_now
    ORDER BY t.fire_at, t.execution_id, t.path
    LIMIT p_limit;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_due_timers(double precision, integer)
IS
'The timers due at p_now (seconds since the epoch, inclusive), oldest due first, at most p_limit (NULL: all). '
'Raises ST006 or ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_due_timers(double precision, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_delete_timer(p_id text, p_path text, p_fire_at double precision) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
    v_count integer;
BEGIN
    IF p_id IS NULL THEN
        PERFORM @extschema@.harel__refuse_key(p_id, 'execution id', p_id);
    END IF;
    IF p_path IS NULL THEN
        PERFORM @extschema@.harel__refuse_key(p_id, 'timer path', p_path);
    END IF;
    IF p_fire_at IS NULL THEN
        PERFORM @extschema@.harel__refuse_time(
            format('Execution %L, timer %L', left(p_id, 40), left(p_path, 40)), p_fire_at
        );
    END IF;
    DELETE FROM @extschema@.timers t
    WHERE t.execution_id = p_id AND t.path = p_path AND t.fire_at = p_fire_at;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_delete_timer(text, text, double precision)
IS
'Disarms a timer that has been handled, only while it is still due at p_fire_at: one re-scheduled meanwhile '
'stays. Returns 1, or 0 where none matched. Raises ST001 or ST006 for NULL.';
REVOKE ALL ON FUNCTION @extschema@.harel_delete_timer(text, text, double precision) FROM PUBLIC;
