CREATE FUNCTION @extschema@.harel_pending_outbox(p_limit integer DEFAULT NULL)
RETURNS TABLE (seq bigint, target_id text, event text, source_id text)
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
        -- There a seq tells nothing of the order.
        RETURN QUERY
        SELECT o.seq, o.target_id, o.event, nullif(o.source_id, '')
        FROM @extschema@.outbox o
        ORDER BY o.source_id, o.version, o.ord, o.seq
        LIMIT p_limit;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT o.seq, o.target_id, o.event, o.source_id
    FROM @extschema@.outbox o
    ORDER BY o.seq
    LIMIT p_limit;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_pending_outbox(integer)
IS
'The events waiting to be sent, oldest first, at most p_limit (NULL: all), with the execution that each is for (NULL: '
'a broadcast) and the one that emitted it. Raises ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_pending_outbox(integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_ack_outbox(p_seq bigint) RETURNS integer
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
        RETURN @extschema@.harel__everywhere_settle_outbox(ARRAY[p_seq]);
    END IF;
    DELETE FROM @extschema@.outbox o WHERE o.seq = p_seq;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_ack_outbox(bigint)
IS 'Removes an event that has been sent; returns 1, or 0 where it was not pending. Raises ST001 for NULL.';
REVOKE ALL ON FUNCTION @extschema@.harel_ack_outbox(bigint) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_take_outbox(p_limit integer DEFAULT NULL)
RETURNS TABLE (seq bigint, target_id text, event text, source_id text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY SELECT * FROM @extschema@.harel__everywhere_take_outbox(p_limit);
        RETURN;
    END IF;
    RETURN QUERY
    SELECT o.seq, o.target_id, o.event, o.source_id
    FROM @extschema@.outbox o
    ORDER BY o.seq
    LIMIT p_limit
    FOR UPDATE SKIP LOCKED;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_take_outbox(integer)
IS
'harel_pending_outbox() for a transaction that is going to send the events: it locks them until its end, and passes '
'over those that another has locked. Raises ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_take_outbox(integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_settle_outbox(p_seqs bigint[]) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
    v_count integer;
BEGIN
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_settle_outbox(p_seqs);
    END IF;
    DELETE FROM @extschema@.outbox o WHERE o.seq = ANY (p_seqs);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_settle_outbox(bigint[])
IS 'Removes events that have been sent; returns how many of them were pending.';
REVOKE ALL ON FUNCTION @extschema@.harel_settle_outbox(bigint[]) FROM PUBLIC;
