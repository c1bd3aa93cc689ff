-- What a store does that is spread over several nodes. First what is done for one execution: harel_distribute() sends
-- these to the node that has its rows, where each statement must name the id, by the column that rows are spread by,
-- and touches nothing of another. They are called from a FROM clause with the id as their first argument, and with
-- custom plans only, or Citus would not send them. A statement that looks for the rows of an id in one table, and holds
-- nothing else, it plans in a third of the time of any other.

CREATE FUNCTION @extschema@.harel__bury_group(
    p_group_id text, p_reason text, p_all boolean, p_now double precision
) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_group record;
    v_message record;
BEGIN
    SELECT g.head, g.tail, g.attempts, g.claimed_at
    INTO v_group
    FROM @extschema@.transport_groups g
    WHERE g.group_id = p_group_id
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    FOR v_message IN
        SELECT m.seq, m.event, m.published_at
        FROM @extschema@.transport_messages m
        WHERE m.group_id = p_group_id
            AND m.seq >= v_group.head
            AND m.seq <= CASE WHEN p_all THEN v_group.tail ELSE v_group.head END
    LOOP
        INSERT INTO @extschema@.dead_letters (
            group_id, id, seq, event, reason, attempts, published_at, delivered_at, dead_at
        ) VALUES (
            p_group_id, gen_random_uuid(), v_message.seq, v_message.event,
            coalesce(p_reason, format('delivered %s times without having been handled', v_group.attempts)),
            CASE WHEN v_message.seq = v_group.head THEN v_group.attempts ELSE 0 END,
            v_message.published_at,
            CASE WHEN v_message.seq = v_group.head AND v_group.attempts > 0 THEN v_group.claimed_at END,
            clock_timestamp()
        );
    END LOOP;
    DELETE FROM @extschema@.transport_messages m
    WHERE m.group_id = p_group_id
        AND m.seq >= v_group.head
        AND m.seq <= CASE WHEN p_all THEN v_group.tail ELSE v_group.head END;
    IF p_all OR v_group.head = v_group.tail THEN
        DELETE FROM @extschema@.transport_groups g WHERE g.group_id = p_group_id;
    ELSE
        UPDATE @extschema@.transport_groups g
        SET head = g.head + 1, available_at = p_now, attempts = 0, token = NULL, worker = NULL
        WHERE g.group_id = p_group_id;
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__bury_group(text, text, boolean, double precision)
IS 'Internal. harel__bury() of one group.';
REVOKE ALL ON FUNCTION @extschema@.harel__bury_group(text, text, boolean, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__claim_group(
    p_group_id text,
    p_worker text,
    p_visibility double precision,
    p_min_priority integer,
    p_max_attempts integer,
    p_load boolean,
    p_token uuid,
    p_now double precision,
    OUT state text,
    OUT seq bigint,
    OUT event text,
    OUT attempts integer,
    OUT definition_id text,
    OUT data text,
    OUT version integer,
    OUT status text,
    OUT already_processed boolean
) RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_claimed_at timestamptz := clock_timestamp();
    v_event_id text;
BEGIN
    SELECT g.head, g.attempts + 1
    INTO seq, attempts
    FROM @extschema@.transport_groups g
    WHERE g.group_id = p_group_id AND g.available_at + 0 <= p_now AND g.priority >= p_min_priority
    FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        state := 'taken';
        RETURN;
    ELSIF attempts > p_max_attempts THEN
        -- What is behind it comes after those that wait.
        state := 'exhausted';
        PERFORM @extschema@.harel__bury_group(p_group_id, NULL, false, p_now);
        RETURN;
    END IF;
    SELECT m.event INTO event FROM @extschema@.transport_messages m
    WHERE m.group_id = p_group_id AND m.seq = harel__claim_group.seq;
    state := 'given';
    IF p_load THEN
        v_event_id := @extschema@.harel__member(event, 'id');
        SELECT e.definition_id, e.data, e.version, e.status
        INTO definition_id, data, version, status
        FROM @extschema@.executions e
        WHERE e.id = p_group_id;
        PERFORM FROM @extschema@.processed_events p
        WHERE p.execution_id = p_group_id AND p.event_id = v_event_id;
        already_processed := FOUND;
        IF version IS NULL THEN
            state := 'unknown';
        ELSIF status = 'SUSPENDED' THEN
            state := 'suspended';
            UPDATE @extschema@.transport_groups g
            SET available_at = 'Infinity', token = NULL, worker = NULL
            WHERE g.group_id = p_group_id;
            RETURN;
        ELSIF status IN ('CANCELLED', 'FAILED') AND NOT already_processed THEN
            state := 'buried';
            UPDATE @extschema@.transport_groups g
            SET attempts = g.attempts + 1, claimed_at = v_claimed_at
            WHERE g.group_id = p_group_id;
            PERFORM @extschema@.harel__bury_group(p_group_id, format('the execution is %s', status), true, p_now);
            RETURN;
        END IF;
    END IF;
    UPDATE @extschema@.transport_groups g
    SET available_at = p_now + p_visibility,
        token = p_token,
        worker = p_worker,
        attempts = harel__claim_group.attempts,
        claimed_at = v_claimed_at
    WHERE g.group_id = p_group_id;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__claim_group(
    text, text, double precision, integer, integer, boolean, uuid, double precision
) IS
'Internal. harel_claim(), or harel_next() where p_load, of one group that may be available: whether its message is '
'given, was delivered too often, or the group is taken, buried or suspended, or leased for an execution that is '
'unknown.';
REVOKE ALL ON FUNCTION @extschema@.harel__claim_group(
    text, text, double precision, integer, integer, boolean, uuid, double precision
) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__refuse_group(p_group_id text, p_expected boolean, p_now double precision)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
BEGIN
    IF p_expected OR EXISTS (SELECT FROM @extschema@.executions e WHERE e.id = p_group_id) THEN
        UPDATE @extschema@.transport_groups g
        SET available_at = p_now + 0.1, token = NULL, worker = NULL, attempts = g.attempts - 1
        WHERE g.group_id = p_group_id;
    ELSE
        PERFORM @extschema@.harel__bury_group(p_group_id, 'there is no such execution', true, p_now);
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__refuse_group(text, boolean, double precision)
IS 'Internal. harel__drop_unknown() of one group, of which the caller knows whether its execution is asked for.';
REVOKE ALL ON FUNCTION @extschema@.harel__refuse_group(text, boolean, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__extend_group(
    p_group_id text, p_token uuid, p_visibility double precision, p_now double precision
) RETURNS double precision
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_deadline double precision;
BEGIN
    SELECT g.available_at INTO v_deadline
    FROM @extschema@.transport_groups g
    WHERE g.group_id = p_group_id AND g.token = p_token AND g.available_at + 0 > p_now;
    IF NOT FOUND OR v_deadline >= p_now + p_visibility THEN
        RETURN v_deadline;
    END IF;
    -- This waits for nobody, as harel_extend().
    PERFORM FROM @extschema@.transport_groups g
    WHERE g.group_id = p_group_id AND g.token = p_token AND g.available_at + 0 > p_now
    FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE @extschema@.transport_groups g SET available_at = p_now + p_visibility WHERE g.group_id = p_group_id;
        v_deadline := p_now + p_visibility;
    END IF;
    RETURN v_deadline;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__extend_group(text, uuid, double precision, double precision)
IS 'Internal. The deadline of a lease, moved if it can be; NULL where the lease is over.';
REVOKE ALL ON FUNCTION @extschema@.harel__extend_group(text, uuid, double precision, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__finish_group(
    p_group_id text,
    p_token uuid,
    p_defn text,
    p_data text,
    p_old bigint,
    p_event text,
    p_emit_targets text[],
    p_emit_events text[],
    p_spawn_children text[],
    p_spawn_root_paths text[],
    p_spawn_contexts text[],
    p_timer_actions text[],
    p_timer_paths text[],
    p_timer_fire_ats double precision[],
    p_trace text,
    p_trace_max integer,
    p_now double precision,
    OUT result text,
    OUT stored_version integer,
    OUT outbox_seqs bigint[]
) RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_head bigint;
    v_tail bigint;
BEGIN
    outbox_seqs := '{}';
    PERFORM FROM @extschema@.executions e WHERE e.id = p_group_id FOR NO KEY UPDATE;
    SELECT g.head, g.tail INTO v_head, v_tail
    FROM @extschema@.transport_groups g
    WHERE g.group_id = p_group_id AND g.token = p_token AND g.available_at + 0 > p_now
    FOR UPDATE;
    IF NOT FOUND THEN
        result := 'expired';
        RETURN;
    END IF;
    IF p_data IS NOT NULL THEN
        outbox_seqs := @extschema@.harel__commit(
            p_group_id, p_defn, p_data, p_old, p_event, p_emit_targets, p_emit_events,
            p_spawn_children, p_spawn_root_paths, p_spawn_contexts,
            p_timer_actions, p_timer_paths, p_timer_fire_ats, p_trace, p_trace_max
        );
        IF outbox_seqs IS NULL THEN
            result := 'conflict';
            outbox_seqs := '{}';
            SELECT e.version INTO stored_version FROM @extschema@.executions e WHERE e.id = p_group_id;
            RETURN;
        END IF;
        stored_version := p_old + 1;
    END IF;
    IF @extschema@.harel__settle_group(p_group_id, v_head, v_tail, p_now) THEN
        PERFORM @extschema@.harel__wake();
    END IF;
    result := 'finished';
END
$$;
COMMENT ON FUNCTION @extschema@.harel__finish_group(
    text, uuid, text, text, bigint, text, text[], text[], text[], text[], text[], text[], text[], double precision[],
    text, integer, double precision
) IS 'Internal. harel_finish() of one message; events and children wait in the outbox and in spawns.';
REVOKE ALL ON FUNCTION @extschema@.harel__finish_group(
    text, uuid, text, text, bigint, text, text[], text[], text[], text[], text[], text[], text[], double precision[],
    text, integer, double precision
) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__enqueue_group(
    p_group_id text, p_events text[], p_priority integer, p_now double precision
) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_base bigint := extract(epoch FROM clock_timestamp()) * 1000000;
    v_count integer := cardinality(p_events);
    v_priority integer := p_priority;
    v_tail bigint;
BEGIN
    IF v_priority IS NULL THEN
        SELECT e.priority INTO v_priority FROM @extschema@.executions e WHERE e.id = p_group_id;
        v_priority := coalesce(v_priority, 0);
    END IF;
    INSERT INTO @extschema@.transport_groups AS g (group_id, available_at, head, tail, priority)
    VALUES (p_group_id, p_now, v_base, v_base + v_count - 1, v_priority)
    ON CONFLICT (group_id) DO UPDATE SET tail = g.tail + 1 + excluded.tail - excluded.head
    RETURNING g.tail INTO v_tail;
    FOR i IN 1 .. v_count LOOP
        INSERT INTO @extschema@.transport_messages (group_id, seq, event, published_at)
        VALUES (p_group_id, v_tail - v_count + i, p_events[i], clock_timestamp());
    END LOOP;
    PERFORM @extschema@.harel__wake();
END
$$;
COMMENT ON FUNCTION @extschema@.harel__enqueue_group(text, text[], integer, double precision)
IS 'Internal. harel__enqueue() of the events of one group, at one priority (NULL: that of the execution).';
REVOKE ALL ON FUNCTION @extschema@.harel__enqueue_group(text, text[], integer, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__receive_events(p_group_id text, p_events text[], p_now double precision)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET lock_timeout = '10ms'
AS $$
BEGIN
    PERFORM FROM @extschema@.transport_groups g WHERE g.group_id = p_group_id FOR UPDATE SKIP LOCKED;
    IF NOT FOUND AND EXISTS (SELECT FROM @extschema@.transport_groups g WHERE g.group_id = p_group_id) THEN
        RETURN false;
    END IF;
    PERFORM @extschema@.harel__enqueue_group(p_group_id, p_events, NULL, p_now);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__receive_events(text, text[], double precision)
IS 'Internal. Puts events at the end of a group, unless another transaction has locked it or is making it.';
REVOKE ALL ON FUNCTION @extschema@.harel__receive_events(text, text[], double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__take_events(
    p_source_id text, p_limit integer, p_relay boolean, p_without text[]
) RETURNS TABLE (seq bigint, target_id text, event text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
BEGIN
    -- One relay at a time for each source, as by harel_relay().
    IF p_relay AND NOT pg_try_advisory_xact_lock(hashtextextended('harel.relay:@extschema@:' || p_source_id, 0)) THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT o.seq, o.target_id, o.event
    FROM @extschema@.outbox o
    WHERE o.source_id = p_source_id
        AND (NOT p_relay OR o.target_id IS NOT NULL AND o.target_id <> ALL (p_without))
    ORDER BY o.version, o.ord, o.seq
    LIMIT p_limit
    FOR UPDATE SKIP LOCKED;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__take_events(text, integer, boolean, text[])
IS
'Internal. Locks the first events that a source has in the outbox, in its order; for a relay those with a target, '
'but for some, and none while another relay has some.';
REVOKE ALL ON FUNCTION @extschema@.harel__take_events(text, integer, boolean, text[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__drop_events(p_source_id text, p_seqs bigint[]) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_count integer;
BEGIN
    DELETE FROM @extschema@.outbox o WHERE o.source_id = p_source_id AND o.seq = ANY (p_seqs);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__drop_events(text, bigint[])
IS 'Internal. harel_settle_outbox() of events of one source.';
REVOKE ALL ON FUNCTION @extschema@.harel__drop_events(text, bigint[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__take_spawns(p_parent_id text, p_limit integer)
RETURNS TABLE (
    seq bigint, child_id text, root_path text, context text, definition_id text, priority smallint, status text
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_parent record;
    v_left integer := p_limit;
BEGIN
    -- As harel_relay_spawns() does.
    SELECT e.definition_id, e.priority, e.status INTO v_parent
    FROM @extschema@.executions e
    WHERE e.id = p_parent_id
    FOR SHARE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    FOR seq, child_id, root_path, context IN
        SELECT s.seq, s.child_id, s.root_path, s.context
        FROM @extschema@.spawns s
        WHERE s.parent_id = p_parent_id
        ORDER BY s.version, s.ord, s.seq
        FOR UPDATE SKIP LOCKED
    LOOP
        EXIT WHEN v_left <= 0;
        CONTINUE WHEN NOT @extschema@.harel__is_json(context);
        definition_id := v_parent.definition_id;
        priority := v_parent.priority;
        status := v_parent.status;
        v_left := v_left - 1;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__take_spawns(text, integer)
IS
'Internal. Locks the first children that an execution has asked for, and the execution: none while it is being worked '
'on.';
REVOKE ALL ON FUNCTION @extschema@.harel__take_spawns(text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__drop_spawns(p_parent_id text, p_seqs bigint[]) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_count integer;
BEGIN
    DELETE FROM @extschema@.spawns s WHERE s.parent_id = p_parent_id AND s.seq = ANY (p_seqs);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__drop_spawns(text, bigint[])
IS 'Internal. Removes requests for children of one execution; returns how many were pending.';
REVOKE ALL ON FUNCTION @extschema@.harel__drop_spawns(text, bigint[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__receive_child(
    p_child_id text,
    p_parent_id text,
    p_definition_id text,
    p_priority integer,
    p_root_path text,
    p_context text,
    p_suspended boolean,
    p_now double precision
) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_start text := @extschema@.harel__create_child(
        p_parent_id, p_definition_id, p_priority, p_child_id, p_root_path, p_context
    );
BEGIN
    IF v_start IS NOT NULL THEN
        PERFORM @extschema@.harel__enqueue_group(p_child_id, ARRAY[v_start], NULL, p_now);
        IF p_suspended THEN
            PERFORM @extschema@.harel__control_execution(p_child_id, 'SUSPENDED', false, p_now);
        END IF;
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__receive_child(text, text, text, integer, text, text, boolean, double precision)
IS 'Internal. Creates a child execution, if its id is free, with its Start event in the queue.';
REVOKE ALL ON FUNCTION @extschema@.harel__receive_child(
    text, text, text, integer, text, text, boolean, double precision
) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__fire_timers_of(p_execution_id text, p_now double precision, p_limit integer)
RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET extra_float_digits = 1
AS $$
DECLARE
    v_timer record;
    v_paths text[] := '{}';
    v_events text[] := '{}';
BEGIN
    FOR v_timer IN
        SELECT t.path, t.fire_at
        FROM @extschema@.timers t
        WHERE t.execution_id = p_execution_id AND t.fire_at + 0 <= p_now
        ORDER BY t.fire_at + 0, t.path
        LIMIT p_limit
        FOR UPDATE SKIP LOCKED
    LOOP
        v_paths := v_paths || v_timer.path;
        v_events := v_events || @extschema@.harel__timeout(p_execution_id, v_timer.path, v_timer.fire_at);
    END LOOP;
    IF v_paths = '{}' OR NOT @extschema@.harel__receive_events(p_execution_id, v_events, p_now) THEN
        RETURN 0;
    END IF;
    DELETE FROM @extschema@.timers t WHERE t.execution_id = p_execution_id AND t.path = ANY (v_paths);
    RETURN cardinality(v_paths);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__fire_timers_of(text, double precision, integer)
IS 'Internal. harel_fire_timers() of one execution.';
REVOKE ALL ON FUNCTION @extschema@.harel__fire_timers_of(text, double precision, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__lock_execution(p_id text) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_version integer;
BEGIN
    SELECT e.version INTO v_version FROM @extschema@.executions e WHERE e.id = p_id FOR NO KEY UPDATE;
    RETURN v_version;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__lock_execution(text)
IS 'Internal. Locks an execution until the end of the transaction; its version, or NULL where there is none.';
REVOKE ALL ON FUNCTION @extschema@.harel__lock_execution(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__control_execution(
    p_id text, p_to text, p_strict boolean, p_now double precision
) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    -- Not a record: the collation of a column would become that of the id in what is called.
    v_definition_id text;
    v_data text;
    v_version integer;
    v_status text;
BEGIN
    SELECT e.definition_id, e.data, e.version, e.status INTO v_definition_id, v_data, v_version, v_status
    FROM @extschema@.executions e
    WHERE e.id = p_id
    FOR NO KEY UPDATE;
    IF NOT FOUND OR NOT @extschema@.harel__bring_to(
        p_id, v_definition_id, v_data, v_version, v_status, p_to, p_strict
    ) THEN
        RETURN false;
    END IF;
    IF p_to = 'CANCELLED' THEN
        DELETE FROM @extschema@.timers t WHERE t.execution_id = p_id;
        DELETE FROM @extschema@.spawns s WHERE s.parent_id = p_id;
        PERFORM @extschema@.harel__bury_group(p_id, 'the execution was cancelled', true, p_now);
    ELSIF p_to = 'SUSPENDED' THEN
        UPDATE @extschema@.transport_groups g
        SET available_at = 'Infinity', token = NULL, worker = NULL
        WHERE g.group_id = p_id;
    ELSE
        UPDATE @extschema@.transport_groups g
        SET available_at = p_now
        WHERE g.group_id = p_id AND g.available_at + 0 = 'Infinity';
        PERFORM @extschema@.harel__wake();
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__control_execution(text, text, boolean, double precision)
IS 'Internal. harel__control() of one execution without those that descend from it.';
REVOKE ALL ON FUNCTION @extschema@.harel__control_execution(text, text, boolean, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__purge_execution(p_id text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
BEGIN
    DELETE FROM @extschema@.executions e WHERE e.id = p_id;
    DELETE FROM @extschema@.timers t WHERE t.execution_id = p_id;
    DELETE FROM @extschema@.spawns s WHERE s.parent_id = p_id;
    PERFORM FROM @extschema@.transport_groups g WHERE g.group_id = p_id FOR UPDATE;
    IF FOUND THEN
        DELETE FROM @extschema@.transport_messages m WHERE m.group_id = p_id;
        DELETE FROM @extschema@.transport_groups g WHERE g.group_id = p_id;
    END IF;
    DELETE FROM @extschema@.dead_letters d WHERE d.group_id = p_id;
    DELETE FROM @extschema@.trace t WHERE t.execution_id = p_id;
    DELETE FROM @extschema@.processed_events p WHERE p.execution_id = p_id;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__purge_execution(text)
IS 'Internal. Removes what lies beside an execution, and itself, for a caller that has locked it.';
REVOKE ALL ON FUNCTION @extschema@.harel__purge_execution(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__redrive_group(p_group_id text, p_ids uuid[], p_now double precision) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_base bigint := extract(epoch FROM clock_timestamp()) * 1000000;
    v_letter record;
    v_priority integer;
    v_head bigint;
    v_count integer := 0;
BEGIN
    SELECT e.priority INTO v_priority FROM @extschema@.executions e WHERE e.id = p_group_id;
    FOR v_letter IN
        SELECT d.id, d.event, d.published_at
        FROM @extschema@.dead_letters d
        WHERE d.group_id = p_group_id AND d.id = ANY (p_ids)
        ORDER BY d.published_at DESC, d.seq DESC
        FOR UPDATE SKIP LOCKED
    LOOP
        INSERT INTO @extschema@.transport_groups AS g (group_id, available_at, head, tail, priority)
        VALUES (p_group_id, p_now, v_base, v_base, coalesce(v_priority, 0))
        ON CONFLICT (group_id) DO UPDATE
        SET head = g.head - 1,
            available_at = CASE WHEN g.available_at = 'Infinity' THEN 'Infinity' ELSE excluded.available_at END,
            attempts = 0,
            token = NULL,
            worker = NULL
        RETURNING g.head INTO v_head;
        INSERT INTO @extschema@.transport_messages (group_id, seq, event, published_at)
        VALUES (p_group_id, v_head, v_letter.event, v_letter.published_at);
        DELETE FROM @extschema@.dead_letters d WHERE d.group_id = p_group_id AND d.id = v_letter.id;
        v_count := v_count + 1;
    END LOOP;
    IF v_count > 0 THEN
        PERFORM @extschema@.harel__wake();
    END IF;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__redrive_group(text, uuid[], double precision)
IS 'Internal. harel_redrive() of some dead letters of one group.';
REVOKE ALL ON FUNCTION @extschema@.harel__redrive_group(text, uuid[], double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__lock_finished(p_id text, p_before timestamptz) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_version integer;
BEGIN
    SELECT e.version INTO v_version
    FROM @extschema@.executions e
    WHERE e.id = p_id AND e.finished_at < p_before
    FOR UPDATE SKIP LOCKED;
    IF EXISTS (SELECT FROM @extschema@.transport_groups g WHERE g.group_id = p_id)
        OR EXISTS (SELECT FROM @extschema@.spawns s WHERE s.parent_id = p_id)
    THEN
        RETURN NULL;
    END IF;
    RETURN v_version;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__lock_finished(text, timestamptz)
IS
'Internal. Locks an execution that can be purged, having finished before a time; its version, or NULL where it cannot, '
'or another has locked it.';
REVOKE ALL ON FUNCTION @extschema@.harel__lock_finished(text, timestamptz) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__forget_events(p_execution_id text, p_event_ids text[]) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_count integer;
BEGIN
    DELETE FROM @extschema@.processed_events p
    WHERE p.execution_id = p_execution_id AND p.event_id = ANY (p_event_ids);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__forget_events(text, text[])
IS 'Internal. Removes events of one execution from the ledger; returns how many.';
REVOKE ALL ON FUNCTION @extschema@.harel__forget_events(text, text[]) FROM PUBLIC;
