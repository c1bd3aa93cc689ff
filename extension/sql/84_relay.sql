-- These move what commits have left behind into the queue. They wait for no group that is being worked on: what is for
-- it stays for the next call, and so neither a long transaction nor a worker that settles can stop the others' events.

CREATE FUNCTION @extschema@.harel__busy(p_group_ids text[]) RETURNS text[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
DECLARE
    v_locked text[] := ARRAY(
        SELECT g.group_id FROM @extschema@.transport_groups g
        WHERE g.group_id = ANY (p_group_ids)
        ORDER BY g.group_id
        FOR UPDATE SKIP LOCKED
    );
BEGIN
    RETURN ARRAY(
        SELECT g.group_id FROM @extschema@.transport_groups g
        WHERE g.group_id = ANY (p_group_ids) AND g.group_id <> ALL (v_locked)
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel__busy(text[])
IS 'Internal. Locks those of the groups that nobody has locked, and returns the others.';
REVOKE ALL ON FUNCTION @extschema@.harel__busy(text[]) FROM PUBLIC;

-- A group that another transaction is making cannot be seen, and whoever publishes to it waits for that transaction.
CREATE FUNCTION @extschema@.harel__enqueue_free(
    p_group_ids text[], p_events text[], p_now double precision
) RETURNS text[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '10ms'
AS $$
DECLARE
    v_group record;
    v_busy text[] := '{}';
BEGIN
    BEGIN
        PERFORM @extschema@.harel__enqueue(p_group_ids, p_events, NULL, p_now);
        RETURN v_busy;
    EXCEPTION WHEN lock_not_available THEN
        -- It is not known which: each by itself, then.
        PERFORM set_config('lock_timeout', '1ms', true);
    END;
    FOR v_group IN
        SELECT m.group_id, array_agg(m.group_id) AS group_ids, array_agg(m.event ORDER BY m.place) AS events
        FROM unnest(p_group_ids, p_events) WITH ORDINALITY AS m (group_id, event, place)
        GROUP BY m.group_id
        ORDER BY m.group_id COLLATE "C"
    LOOP
        BEGIN
            PERFORM @extschema@.harel__enqueue(v_group.group_ids, v_group.events, NULL, p_now);
        EXCEPTION WHEN lock_not_available THEN
            v_busy := v_busy || v_group.group_id;
        END;
    END LOOP;
    RETURN v_busy;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__enqueue_free(text[], text[], double precision)
IS 'Internal. harel__enqueue(), but for the groups that another transaction is making: it returns these.';
REVOKE ALL ON FUNCTION @extschema@.harel__enqueue_free(text[], text[], double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_relay(p_limit integer DEFAULT 1000, p_now double precision DEFAULT NULL)
RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_seqs bigint[];
    v_targets text[];
    v_events text[];
    v_busy text[] := '{}';
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_relay(p_limit, v_now);
    END IF;
    -- One at a time: of two, each with some of one source's events, the later ones could arrive first.
    IF NOT pg_try_advisory_xact_lock(hashtextextended('harel.relay:@extschema@', 0)) THEN
        RETURN 0;
    END IF;
    -- As often as all that it finds is for groups that are being worked on, which must not hide what is behind it.
    LOOP
        SELECT array_agg(o.seq), array_agg(o.target_id), array_agg(o.event)
        INTO v_seqs, v_targets, v_events
        FROM (
            SELECT o.seq, o.target_id, o.event
            FROM @extschema@.outbox o
            WHERE octet_length(o.target_id) >= 0 AND o.shard IS NULL AND o.target_id <> ALL (v_busy)
            -- That of the index; all of one shard.
            ORDER BY o.shard, o.seq
            LIMIT p_limit
            FOR UPDATE SKIP LOCKED
        ) o;
        IF v_seqs IS NULL THEN
            RETURN 0;
        END IF;
        v_busy := v_busy || @extschema@.harel__busy(v_targets);
        IF v_busy <> '{}' THEN
            SELECT
                coalesce(array_agg(o.seq ORDER BY o.place), '{}'),
                coalesce(array_agg(o.target_id ORDER BY o.place), '{}'),
                coalesce(array_agg(o.event ORDER BY o.place), '{}')
            INTO v_seqs, v_targets, v_events
            FROM unnest(v_seqs, v_targets, v_events) WITH ORDINALITY AS o (seq, target_id, event, place)
            WHERE o.target_id <> ALL (v_busy);
            CONTINUE WHEN v_seqs = '{}';
        END IF;
        v_busy := v_busy || @extschema@.harel__enqueue_free(v_targets, v_events, v_now);
        v_seqs := ARRAY(
            SELECT o.seq FROM unnest(v_seqs, v_targets) AS o (seq, target_id) WHERE o.target_id <> ALL (v_busy)
        );
        EXIT WHEN v_seqs <> '{}';
    END LOOP;
    DELETE FROM @extschema@.outbox o WHERE o.seq = ANY (v_seqs);
    RETURN cardinality(v_seqs);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_relay(integer, double precision)
IS
'Moves up to p_limit events that have a target from the outbox into the queue, at the priority of the target: each '
'once, those of one source in the order in which it emitted them. Returns how many; 0 while another relay is at work. '
'Broadcasts stay for harel_pending_outbox(), and what is for another shard for harel_foreign_outbox(). Raises ST006 or '
'ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_relay(integer, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__is_json(p_text text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN p_text::json IS NOT NULL;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN false;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__is_json(text)
IS 'Internal. Whether a text is JSON.';
REVOKE ALL ON FUNCTION @extschema@.harel__is_json(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_relay_spawns(p_limit integer DEFAULT 1000, p_now double precision DEFAULT NULL)
RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_spawn record;
    v_start text;
    v_seqs bigint[] := '{}';
    v_group_ids text[] := '{}';
    v_events text[] := '{}';
    v_suspended text[] := '{}';
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_relay_spawns(p_limit, v_now);
    END IF;
    -- The parent is locked too: one that is being suspended or cancelled would miss the child.
    FOR v_spawn IN
        SELECT s.seq, s.parent_id, s.child_id, s.root_path, s.context, e.definition_id, e.priority, e.status
        FROM @extschema@.spawns s
        CROSS JOIN LATERAL (
            SELECT e.definition_id, e.priority, e.status FROM @extschema@.executions e
            WHERE e.id = s.parent_id
            FOR SHARE SKIP LOCKED
        ) e
        -- One that nothing can be made of must not stop the others.
        WHERE s.shard IS NULL AND @extschema@.harel__is_json(s.context)
        ORDER BY s.seq
        LIMIT p_limit
        FOR UPDATE OF s SKIP LOCKED
    LOOP
        v_start := @extschema@.harel__create_child(
            v_spawn.parent_id, v_spawn.definition_id, v_spawn.priority,
            v_spawn.child_id, v_spawn.root_path, v_spawn.context
        );
        IF v_start IS NOT NULL THEN
            v_group_ids := v_group_ids || v_spawn.child_id;
            v_events := v_events || v_start;
            IF v_spawn.status = 'SUSPENDED' THEN
                v_suspended := v_suspended || v_spawn.child_id;
            END IF;
        END IF;
        v_seqs := v_seqs || v_spawn.seq;
    END LOOP;
    IF v_group_ids <> '{}' THEN
        PERFORM @extschema@.harel__enqueue(v_group_ids, v_events, NULL, v_now);
    END IF;
    IF v_suspended <> '{}' THEN
        PERFORM @extschema@.harel__control(v_suspended, 'SUSPENDED', false);
    END IF;
    DELETE FROM @extschema@.spawns s WHERE s.seq = ANY (v_seqs);
    RETURN cardinality(v_seqs);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_relay_spawns(integer, double precision)
IS
'Creates up to p_limit of the children that commits have asked for, each once, with the definition and the priority '
'of its parent, PENDING (SUSPENDED with its parent) and with a Start event in the queue. Where the id is taken, the '
'child is there already. One whose context is not JSON stays for harel_pending_spawns(), and those of a parent that is '
'being worked on for the next call; those of another shard for harel_foreign_spawns(). Returns how many requests were '
'settled. Raises ST006 or ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_relay_spawns(integer, double precision) FROM PUBLIC;

-- The digits of fire_at are pinned: ids must not depend on the session.
CREATE FUNCTION @extschema@.harel__timeout(p_id text, p_path text, p_fire_at double precision) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET extra_float_digits = 1
AS $$
BEGIN
    RETURN format(
        '{"id":"%s","kind":"Timeout","data":{"path":%s,"fire_at":%s}}',
        @extschema@.harel__derived_id('Timeout', p_id, p_path, p_fire_at::text), to_json(p_path), p_fire_at
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel__timeout(text, text, double precision)
IS 'Internal. The event of a timer that is due; its id is derived from the three.';
REVOKE ALL ON FUNCTION @extschema@.harel__timeout(text, text, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_fire_timers(p_now double precision DEFAULT NULL, p_limit integer DEFAULT 1000)
RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_tids tid[];
    v_ids text[];
    v_busy text[];
    v_events text[];
    v_fired integer;
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_fire_timers(v_now, p_limit);
    END IF;
    SELECT array_agg(t.ctid), array_agg(t.execution_id)
    INTO v_tids, v_ids
    FROM (
        SELECT t.ctid, t.execution_id
        FROM @extschema@.timers t
        WHERE t.fire_at <= v_now
        ORDER BY t.fire_at, t.execution_id, t.path
        LIMIT p_limit
        FOR UPDATE SKIP LOCKED
    ) t;
    IF v_tids IS NULL THEN
        RETURN 0;
    END IF;
    v_busy := @extschema@.harel__busy(v_ids);
    -- Looked up apart from their order, for which an index of all timers would be walked.
    WITH due AS MATERIALIZED (
        SELECT t.execution_id, t.path, t.fire_at
        FROM @extschema@.timers t
        WHERE t.ctid = ANY (v_tids) AND t.execution_id <> ALL (v_busy)
    )
    SELECT
        array_agg(t.execution_id ORDER BY t.fire_at, t.path),
        array_agg(
            @extschema@.harel__timeout(t.execution_id, t.path, t.fire_at)
            ORDER BY t.fire_at, t.path
        )
    INTO v_ids, v_events
    FROM due t;
    IF v_ids IS NULL THEN
        RETURN 0;
    END IF;
    v_busy := v_busy || @extschema@.harel__enqueue_free(v_ids, v_events, v_now);
    DELETE FROM @extschema@.timers t WHERE t.ctid = ANY (v_tids) AND t.execution_id <> ALL (v_busy);
    GET DIAGNOSTICS v_fired = ROW_COUNT;
    RETURN v_fired;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_fire_timers(double precision, integer)
IS
'Turns up to p_limit of the timers due at p_now (seconds since the epoch; NULL: now) into Timeout events in the '
'queue, whose data has the path and fire_at, and removes them: each fires once. The id of an event is derived from '
'execution, path and fire_at. Returns how many fired. Raises ST006 or ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_fire_timers(double precision, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_tick(
    p_limit integer DEFAULT 1000,
    p_now double precision DEFAULT NULL,
    OUT spawned integer,
    OUT relayed integer,
    OUT fired integer,
    OUT next_at double precision
) RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_available_at double precision;
BEGIN
    -- Children first, so that an event for one finds it.
    spawned := @extschema@.harel_relay_spawns(p_limit, v_now);
    relayed := @extschema@.harel_relay(p_limit, v_now);
    fired := @extschema@.harel_fire_timers(v_now, p_limit);
    IF @extschema@.harel__is_distributed() THEN
        next_at := @extschema@.harel__everywhere_next_at(v_now);
        RETURN;
    END IF;
    SELECT t.fire_at INTO next_at FROM @extschema@.timers t ORDER BY t.fire_at, t.execution_id, t.path LIMIT 1;
    SELECT g.available_at INTO v_available_at
    FROM @extschema@.transport_groups g
    WHERE g.available_at > v_now AND g.available_at < 'Infinity'
    ORDER BY g.available_at
    LIMIT 1;
    next_at := least(next_at, v_available_at);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_tick(integer, double precision)
IS
'What a store needs done from time to time: harel_relay_spawns(), harel_relay() and harel_fire_timers(), up to '
'p_limit of each, and when the next timer, parked message or lease is due (seconds since the epoch; NULL: none). '
'Raises ST006 or ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_tick(integer, double precision) FROM PUBLIC;
