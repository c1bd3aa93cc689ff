-- What a monitor asks every few seconds. Nothing large is counted to its end: totals up to a thousand rows, and beyond
-- that they are what the planner would expect, which autovacuum keeps current; what a condition selects, up to ten
-- thousand.
CREATE FUNCTION @extschema@.harel__estimate(p_counted bigint, p_table regclass, p_status text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_rows double precision;
BEGIN
    IF p_counted < 1000 THEN
        RETURN p_counted;
    END IF;
    -- As the planner does it: so many rows a page, and so many pages now. A table never analyzed has -1.
    SELECT c.reltuples / greatest(c.relpages, 1) * pg_relation_size(c.oid) / current_setting('block_size')::integer
    INTO v_rows
    FROM pg_class c
    WHERE c.oid = p_table;
    IF p_status IS NOT NULL THEN
        v_rows := v_rows * (
            SELECT f.frequency
            FROM pg_stats s
            CROSS JOIN LATERAL unnest(s.most_common_vals::text::text[], s.most_common_freqs) AS f (status, frequency)
            WHERE format('%I.%I', s.schemaname, s.tablename)::regclass = p_table
                AND s.attname = 'status'
                AND f.status = p_status
        );
    END IF;
    RETURN greatest(p_counted, coalesce(v_rows, 0)::bigint);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__estimate(bigint, regclass, text)
IS 'Internal. A count that was broken off at 1000 as an estimate of the rows of a table, or of those with a status.';
REVOKE ALL ON FUNCTION @extschema@.harel__estimate(bigint, regclass, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_stats(
    p_now double precision DEFAULT NULL,
    OUT executions jsonb,
    OUT queued bigint,
    OUT oldest_wait double precision,
    OUT leased bigint,
    OUT outbox bigint,
    OUT broadcasts bigint,
    OUT spawns bigint,
    OUT timers bigint,
    OUT overdue_timers bigint,
    OUT oldest_overdue double precision,
    OUT dead_letters bigint,
    OUT processed_events bigint
) RETURNS record
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_status text COLLATE "C";
BEGIN
    IF @extschema@.harel__is_distributed() THEN
        SELECT s.* INTO
            executions, queued, oldest_wait, leased, outbox, broadcasts, spawns, timers, overdue_timers, oldest_overdue,
            dead_letters, processed_events
        FROM @extschema@.harel__everywhere_stats(v_now) s;
        RETURN;
    END IF;
    executions := '{}';
    -- From each status to the next by a descent of the index. An application may have any number of them.
    v_status := (SELECT min(e.status) FROM @extschema@.executions e);
    FOR i IN 1 .. 100 LOOP
        EXIT WHEN v_status IS NULL;
        executions := executions || jsonb_build_object(v_status, @extschema@.harel__estimate(
            (SELECT count(*) FROM (SELECT FROM @extschema@.executions e WHERE e.status = v_status LIMIT 1000) e),
            '@extschema@.executions',
            v_status
        ));
        v_status := (SELECT min(e.status) FROM @extschema@.executions e WHERE e.status > v_status);
    END LOOP;

    queued := @extschema@.harel__estimate(
        (SELECT count(*) FROM (SELECT FROM @extschema@.transport_messages LIMIT 1000) m),
        '@extschema@.transport_messages'
    );
    -- Nothing waits below the floor of the queue for longer than a moment.
    oldest_wait := v_now - (
        SELECT greatest(g.available_at, -1e15)
        FROM @extschema@.transport_groups g
        WHERE g.available_at >= (
            SELECT (f.last_value / 1000000.0)::double precision FROM @extschema@.transport_floor f
        )
        AND g.available_at <= v_now
        ORDER BY g.available_at
        LIMIT 1
    );
    leased := (
        SELECT count(*) FROM (
            SELECT FROM @extschema@.transport_groups g
            WHERE g.available_at > v_now AND g.available_at < 'Infinity' AND g.token IS NOT NULL
            LIMIT 10000
        ) g
    );
    outbox := (
        SELECT count(*) FROM (SELECT FROM @extschema@.outbox o WHERE o.target_id IS NOT NULL LIMIT 10000) o
    );
    broadcasts := greatest(0, @extschema@.harel__estimate(
        (SELECT count(*) FROM (SELECT FROM @extschema@.outbox LIMIT 1000) o), '@extschema@.outbox'
    ) - outbox);
    spawns := @extschema@.harel__estimate(
        (SELECT count(*) FROM (SELECT FROM @extschema@.spawns LIMIT 1000) s), '@extschema@.spawns'
    );
    timers := @extschema@.harel__estimate(
        (SELECT count(*) FROM (SELECT FROM @extschema@.timers LIMIT 1000) t), '@extschema@.timers'
    );
    overdue_timers := (
        SELECT count(*) FROM (SELECT FROM @extschema@.timers t WHERE t.fire_at <= v_now LIMIT 10000) t
    );
    oldest_overdue := v_now - (
        SELECT greatest(t.fire_at, -1e15) FROM @extschema@.timers t
        WHERE t.fire_at <= v_now
        ORDER BY t.fire_at, t.execution_id, t.path
        LIMIT 1
    );
    dead_letters := @extschema@.harel__estimate(
        (SELECT count(*) FROM (SELECT FROM @extschema@.dead_letters LIMIT 1000) d), '@extschema@.dead_letters'
    );
    processed_events := @extschema@.harel__estimate(
        (SELECT count(*) FROM (SELECT FROM @extschema@.processed_events LIMIT 1000) p), '@extschema@.processed_events'
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel_stats(double precision)
IS
'The state of the store in one row: executions by status (an object), messages queued, and seconds for which the first '
'that can be claimed has waited (NULL: none waits), messages leased, events in the outbox that have a target and '
'broadcasts, spawns, timers, those overdue and by how many seconds the first, dead letters, and events in the ledger. '
'Totals below 1000 are exact and greater ones the estimate of the planner; leased, outbox and overdue_timers are '
'counted, up to 10000. It takes milliseconds, however large the store is. Raises ST006.';
REVOKE ALL ON FUNCTION @extschema@.harel_stats(double precision) FROM PUBLIC;
