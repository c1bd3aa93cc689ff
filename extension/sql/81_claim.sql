-- Dead index entries at the head of an index are what kills queues in PostgreSQL: while any snapshot is held, nobody
-- may remove them, and each claim would step over all that was ever claimed. So claims begin at a floor, which follows
-- the least live value. It stays half a second behind the clock, because a message becomes visible only when its
-- transaction commits. One that took longer lands below the floor, as does what another clock or a restore put there:
-- those groups are looked for once a second, or less often where that takes long, and lifted above it.
--
-- The registers are ahead of a clock that was set back, or of another host's since a standby was promoted there. Nobody
-- would find anything until it has caught up, so they begin anew.
CREATE FUNCTION @extschema@.harel__tend(p_now double precision, p_floor double precision) RETURNS double precision
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    v_now_us bigint := p_now * 1000000;
    v_late tid[];
    v_floor double precision;
BEGIN
    IF p_floor > p_now OR v_now_us < (SELECT r.last_value FROM @extschema@.transport_tend_at r) - 5000000 THEN
        PERFORM setval('@extschema@.transport_floor', -9223372036854775807),
            setval('@extschema@.transport_lift_at', 0),
            setval('@extschema@.transport_tend_at', 0);
        p_floor := '-Infinity';
    END IF;
    -- An older snapshot does not show what has come since.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RETURN p_floor;
    END IF;
    PERFORM setval('@extschema@.transport_tend_at', v_now_us + 500000);
    IF v_now_us >= (SELECT r.last_value FROM @extschema@.transport_lift_at r) THEN
        v_late := ARRAY(
            SELECT g.ctid
            FROM @extschema@.transport_groups g
            WHERE g.available_at < p_floor
            ORDER BY g.available_at
            LIMIT 1000
            FOR UPDATE SKIP LOCKED
        );
        UPDATE @extschema@.transport_groups g SET available_at = p_now WHERE g.ctid = ANY (v_late);
        -- At most a twentieth of the time is spent on it.
        PERFORM setval(
            '@extschema@.transport_lift_at',
            v_now_us + greatest(1000000, 20 * (extract(epoch FROM clock_timestamp()) * 1000000 - v_now_us)::bigint)
        );
    END IF;
    v_floor := least(
        (
            SELECT g.available_at FROM @extschema@.transport_groups g
            WHERE g.available_at >= p_floor
            ORDER BY g.available_at
            LIMIT 1
        ),
        p_now - 0.5
    );
    IF v_floor > p_floor THEN
        PERFORM setval('@extschema@.transport_floor', floor(v_floor * 1000000)::bigint);
        RETURN v_floor;
    END IF;
    RETURN p_floor;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__tend(double precision, double precision)
IS
'Internal. Advances the floor below which claims do not look, and lifts above it what came late; returns the floor. '
'Where the clock was set back the floor begins anew.';
REVOKE ALL ON FUNCTION @extschema@.harel__tend(double precision, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__refuse_attempts(p_max_attempts integer) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = 'ST008',
        MESSAGE = 'the greatest number of attempts must be 1 or more',
        DETAIL = format('It is %s: every message would become a dead letter.', p_max_attempts),
        HINT = 'Pass NULL for no limit.';
END
$$;
COMMENT ON FUNCTION @extschema@.harel__refuse_attempts(integer)
IS 'Internal. Raises ST008 for a number of attempts that leaves none.';
REVOKE ALL ON FUNCTION @extschema@.harel__refuse_attempts(integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__lock_available(
    p_limit integer,
    p_min_priority integer,
    p_urgent integer,
    p_max_attempts integer,
    p_now double precision,
    OUT now double precision,
    OUT tids tid[],
    OUT group_ids text[]
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
    v_floor double precision := '-Infinity';
    v_tend_at bigint;
    v_urgent boolean := p_min_priority > 0;
    v_exhausted text[];
    v_more record;
BEGIN
    now := @extschema@.harel__clock(p_now);
    IF p_max_attempts < 1 THEN
        PERFORM @extschema@.harel__refuse_attempts(p_max_attempts);
    END IF;
    IF p_now IS NULL THEN
        SELECT
            f.last_value / 1000000.0,
            t.last_value,
            v_urgent OR p_urgent > 0 AND EXISTS (
                SELECT FROM @extschema@.transport_groups g
                WHERE g.priority > 0
                    AND g.priority IN (1, 2, 3, 4)
                    AND g.available_at + 0 >= (f.last_value / 1000000.0)::double precision
                    AND g.available_at + 0 <= now
            )
        INTO v_floor, v_tend_at, v_urgent
        FROM @extschema@.transport_floor f, @extschema@.transport_tend_at t;
        IF now * 1000000 >= v_tend_at OR now * 1000000 < v_tend_at - 5000000 THEN
            v_floor := @extschema@.harel__tend(now, v_floor);
        END IF;
    ELSIF p_urgent > 0 THEN
        v_urgent := true;
    END IF;
    LOOP
        tids := '{}';
        group_ids := '{}';
        v_exhausted := '{}';
        IF v_urgent THEN
            FOR v_priority IN REVERSE 4 .. greatest(p_min_priority, 1) LOOP
                SELECT
                    array_agg(c.ctid) AS tids,
                    array_agg(c.group_id) AS group_ids,
                    array_agg(c.group_id) FILTER (WHERE c.attempts >= p_max_attempts) AS exhausted
                INTO v_more
                FROM (
                    SELECT g.ctid, g.group_id, g.attempts
                    FROM @extschema@.transport_groups g
                    WHERE g.priority > 0
                        AND g.priority = v_priority
                        AND g.available_at + 0 >= v_floor
                        AND g.available_at + 0 <= now
                    ORDER BY g.available_at + 0
                    LIMIT CASE WHEN p_min_priority > 0 THEN p_limit ELSE p_urgent END - cardinality(tids)
                    FOR UPDATE SKIP LOCKED
                ) c;
                tids := tids || v_more.tids;
                group_ids := group_ids || v_more.group_ids;
                v_exhausted := v_exhausted || v_more.exhausted;
            END LOOP;
        END IF;
        IF p_min_priority = 0 THEN
            SELECT
                tids || array_agg(c.ctid),
                group_ids || array_agg(c.group_id),
                v_exhausted || array_agg(c.group_id) FILTER (WHERE c.attempts >= p_max_attempts)
            INTO tids, group_ids, v_exhausted
            FROM (
                SELECT g.ctid, g.group_id, g.attempts
                FROM @extschema@.transport_groups g
                WHERE g.available_at >= v_floor
                    AND g.available_at <= now
                    AND g.ctid <> ALL (tids)
                ORDER BY g.available_at
                LIMIT p_limit - cardinality(tids)
                FOR UPDATE SKIP LOCKED
            ) c;
        END IF;
        EXIT WHEN v_exhausted = '{}';
        PERFORM @extschema@.harel__bury(v_exhausted, NULL, false, now);
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__lock_available(
    integer, integer, integer, integer, double precision
) IS
'Internal. Locks up to p_limit groups whose first message can be claimed, longest available first, up to p_urgent of '
'them by priority, without waiting; messages delivered too often become dead letters on the way.';
REVOKE ALL ON FUNCTION @extschema@.harel__lock_available(
    integer, integer, integer, integer, double precision
) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__check_claim(
    p_worker text, p_visibility double precision, p_limit integer, p_min_priority integer
) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF (octet_length(p_worker) BETWEEN 1 AND 1000) IS NOT TRUE THEN
        PERFORM @extschema@.harel__refuse_key(NULL, 'worker', p_worker);
    END IF;
    PERFORM @extschema@.harel__check_duration('visibility', p_visibility);
    PERFORM @extschema@.harel__check_priority(NULL, p_min_priority);
    IF p_limit IS NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST008',
            MESSAGE = 'a claim must have a limit',
            DETAIL = 'The limit is NULL.',
            HINT = 'Pass the number of messages that the worker can handle now.';
    END IF;
    PERFORM @extschema@.harel__check_limit(p_limit);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__check_claim(text, double precision, integer, integer)
IS 'Internal. Raises ST001, ST008, ST010 or ST011 for a claim that cannot be made.';
REVOKE ALL ON FUNCTION @extschema@.harel__check_claim(text, double precision, integer, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_claim(
    p_worker text,
    p_visibility double precision,
    p_limit integer DEFAULT 1,
    p_min_priority integer DEFAULT 0,
    p_max_attempts integer DEFAULT 20,
    p_now double precision DEFAULT NULL
) RETURNS TABLE (
    group_id text, seq bigint, event text, token uuid, deadline double precision, attempts integer
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    v_locked record;
    v_token uuid := gen_random_uuid();
BEGIN
    IF (octet_length(p_worker) BETWEEN 1 AND 1000
        AND p_visibility BETWEEN 0 AND 1e300
        AND p_limit >= 0
        AND p_min_priority BETWEEN 0 AND 4) IS NOT TRUE
    THEN
        PERFORM @extschema@.harel__check_claim(p_worker, p_visibility, p_limit, p_min_priority);
    END IF;
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY
        SELECT n.group_id, n.seq, n.event, n.token, n.deadline, n.attempts
        FROM @extschema@.harel__everywhere_next(
            p_worker, p_visibility, p_limit, p_min_priority, CASE WHEN p_min_priority > 0 THEN p_limit ELSE 0 END,
            p_max_attempts, false, p_now
        ) n;
        RETURN;
    END IF;
    v_locked := @extschema@.harel__lock_available(p_limit, p_min_priority, 0, p_max_attempts, p_now);
    IF v_locked.tids = '{}' THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH leased AS (
        UPDATE @extschema@.transport_groups g
        SET available_at = v_locked.now + p_visibility,
            token = v_token,
            worker = p_worker,
            attempts = g.attempts + 1,
            claimed_at = clock_timestamp()
        WHERE g.ctid = ANY (v_locked.tids)
        RETURNING g.group_id, g.head, g.attempts
    )
    SELECT l.group_id, l.head, m.event, v_token, v_locked.now + p_visibility, l.attempts
    FROM leased l
    CROSS JOIN LATERAL (
        SELECT m.event FROM @extschema@.transport_messages m
        WHERE m.group_id = l.group_id AND m.seq = l.head
        OFFSET 0
    ) m
    ORDER BY array_position(v_locked.group_ids, l.group_id);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_claim(text, double precision, integer, integer, integer, double precision)
IS
'Leases the first message of up to p_limit groups for p_visibility seconds, longest available first, and of those '
'with p_min_priority or more the most urgent first. A group has at most one message leased. The token names the '
'lease, which is over at the deadline (seconds since the epoch): then the message can be claimed by another. A '
'message already delivered p_max_attempts times (NULL: no limit) becomes a dead letter instead. Raises ST001, ST006, '
'ST008, ST010 or ST011.';
REVOKE ALL ON FUNCTION @extschema@.harel_claim(text, double precision, integer, integer, integer, double precision)
FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__settle(p_group_ids text[], p_now double precision) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    v_drained integer;
BEGIN
    DELETE FROM @extschema@.transport_messages m
    USING @extschema@.transport_groups g
    WHERE g.group_id = ANY (p_group_ids) AND m.group_id = g.group_id AND m.seq = g.head;
    DELETE FROM @extschema@.transport_groups g WHERE g.group_id = ANY (p_group_ids) AND g.head = g.tail;
    GET DIAGNOSTICS v_drained = ROW_COUNT;
    IF v_drained = cardinality(p_group_ids) THEN
        RETURN false;
    END IF;
    -- Just served, so behind those that wait.
    UPDATE @extschema@.transport_groups g
    SET head = g.head + 1, available_at = p_now, attempts = 0, token = NULL, worker = NULL
    WHERE g.group_id = ANY (p_group_ids);
    RETURN true;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__settle(text[], double precision)
IS
'Internal. Removes the first message of each of these groups, which the caller has locked; returns whether one of '
'them has another.';
REVOKE ALL ON FUNCTION @extschema@.harel__settle(text[], double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__settle_group(p_group_id text, p_head bigint, p_tail bigint, p_now double precision)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
BEGIN
    DELETE FROM @extschema@.transport_messages m WHERE m.group_id = p_group_id AND m.seq = p_head;
    IF p_head = p_tail THEN
        DELETE FROM @extschema@.transport_groups g WHERE g.group_id = p_group_id;
        RETURN false;
    END IF;
    UPDATE @extschema@.transport_groups g
    SET head = g.head + 1, available_at = p_now, attempts = 0, token = NULL, worker = NULL
    WHERE g.group_id = p_group_id;
    RETURN true;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__settle_group(text, bigint, bigint, double precision)
IS 'Internal. harel__settle() of one group, with the numbers of its first and last message.';
REVOKE ALL ON FUNCTION @extschema@.harel__settle_group(text, bigint, bigint, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_ack(
    p_group_id text, p_token uuid, p_now double precision DEFAULT NULL
) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_head bigint;
    v_tail bigint;
BEGIN
    IF p_group_id IS NULL OR p_token IS NULL THEN
        PERFORM @extschema@.harel__refuse_lease(p_group_id);
    END IF;
    -- The sum, here and below, keeps this from the index by time, on which every lease would be looked at.
    SELECT g.head, g.tail INTO v_head, v_tail
    FROM @extschema@.transport_groups g
    WHERE g.group_id = p_group_id AND g.token = p_token AND g.available_at + 0 > v_now
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF @extschema@.harel__settle_group(p_group_id, v_head, v_tail, v_now) THEN
        PERFORM @extschema@.harel__wake();
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_ack(text, uuid, double precision)
IS
'Removes a message that has been handled, and frees its group; returns whether it did. false: the lease is over, and '
'nothing was done. Raises ST001 or ST006.';
REVOKE ALL ON FUNCTION @extschema@.harel_ack(text, uuid, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__refuse_lease(p_group_id text) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = 'ST001',
        MESSAGE = 'a lease is named by its group and its token',
        DETAIL = format('Group %s: one of the two is NULL.', coalesce(quote_literal(left(p_group_id, 40)), 'NULL')),
        HINT = 'Pass the group_id and the token that harel_claim() or harel_next() gave.';
END
$$;
COMMENT ON FUNCTION @extschema@.harel__refuse_lease(text)
IS 'Internal. Raises ST001 for a lease without a group or a token.';
REVOKE ALL ON FUNCTION @extschema@.harel__refuse_lease(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_nack(
    p_group_id text,
    p_token uuid,
    p_delay double precision DEFAULT 0,
    p_reason text DEFAULT NULL,
    p_max_attempts integer DEFAULT 20,
    p_now double precision DEFAULT NULL
) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_attempts integer;
BEGIN
    IF p_group_id IS NULL OR p_token IS NULL THEN
        PERFORM @extschema@.harel__refuse_lease(p_group_id);
    END IF;
    PERFORM @extschema@.harel__check_duration('delay', p_delay);
    UPDATE @extschema@.transport_groups g
    SET available_at = v_now + p_delay, token = NULL, worker = NULL
    WHERE g.group_id = p_group_id AND g.token = p_token AND g.available_at + 0 > v_now
    RETURNING g.attempts INTO v_attempts;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF v_attempts >= p_max_attempts THEN
        PERFORM @extschema@.harel__bury_group(p_group_id, p_reason, false, v_now);
    ELSIF p_delay > 0 THEN
        RETURN true;
    END IF;
    PERFORM @extschema@.harel__wake();
    RETURN true;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_nack(text, uuid, double precision, text, integer, double precision)
IS
'Gives back a message that was not handled: it stays the first of its group, which can be claimed again after p_delay '
'seconds. After p_max_attempts deliveries (NULL: no limit) it becomes a dead letter, for p_reason. Returns whether it '
'did; false: the lease is over, and nothing was done. Raises ST001, ST006 or ST011.';
REVOKE ALL ON FUNCTION @extschema@.harel_nack(text, uuid, double precision, text, integer, double precision)
FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_extend(
    p_group_ids text[],
    p_tokens uuid[],
    p_visibility double precision,
    p_now double precision DEFAULT NULL
) RETURNS TABLE (group_id text, deadline double precision)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
BEGIN
    PERFORM @extschema@.harel__check_list(NULL, 'leases', array_dims(p_group_ids), array_dims(p_tokens));
    PERFORM @extschema@.harel__check_duration('visibility', p_visibility);
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY
        SELECT * FROM @extschema@.harel__everywhere_extend(p_group_ids, p_tokens, p_visibility, v_now);
        RETURN;
    END IF;
    -- This waits for nobody: where another has locked the group, to publish or to settle, the deadline stays for now.
    RETURN QUERY
    WITH leases AS MATERIALIZED (
        SELECT g.group_id, g.token, g.available_at
        FROM unnest(p_group_ids, p_tokens) AS l (group_id, token)
        JOIN @extschema@.transport_groups g ON g.group_id = l.group_id COLLATE "C" AND g.token = l.token
        WHERE g.available_at + 0 > v_now
    ), held AS (
        SELECT g.group_id
        FROM leases l
        JOIN @extschema@.transport_groups g ON g.group_id = l.group_id AND g.token = l.token
        WHERE g.available_at + 0 > v_now
        FOR UPDATE OF g SKIP LOCKED
    ), moved AS (
        UPDATE @extschema@.transport_groups g
        SET available_at = greatest(g.available_at, v_now + p_visibility)
        FROM held h
        WHERE g.group_id = h.group_id
        RETURNING g.group_id, g.available_at
    )
    SELECT m.group_id, m.available_at FROM moved m
    UNION ALL
    SELECT DISTINCT l.group_id, l.available_at FROM leases l
    WHERE l.group_id NOT IN (SELECT m.group_id FROM moved m);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_extend(text[], uuid[], double precision, double precision)
IS
'Moves the deadlines of leases to p_visibility seconds from now, if that is later; returns those that still hold, '
'with their deadlines. Raises ST004, ST006 or ST011.';
REVOKE ALL ON FUNCTION @extschema@.harel_extend(text[], uuid[], double precision, double precision) FROM PUBLIC;
