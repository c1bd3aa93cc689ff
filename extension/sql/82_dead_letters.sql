CREATE FUNCTION @extschema@.harel__bury(
    p_group_ids text[], p_reason text, p_all boolean, p_now double precision
) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
BEGIN
    WITH dead AS (
        DELETE FROM @extschema@.transport_messages m
        USING @extschema@.transport_groups g
        WHERE g.group_id = ANY (p_group_ids)
            AND m.group_id = g.group_id
            AND m.seq >= g.head
            AND m.seq <= CASE WHEN p_all THEN g.tail ELSE g.head END
        RETURNING m.*, m.seq = g.head AS is_first, g.attempts, g.claimed_at
    )
    INSERT INTO @extschema@.dead_letters (group_id, seq, event, reason, attempts, published_at, delivered_at)
    SELECT
        d.group_id, d.seq, d.event,
        coalesce(p_reason, format('delivered %s times without having been handled', d.attempts)),
        CASE WHEN d.is_first THEN d.attempts ELSE 0 END,
        d.published_at,
        CASE WHEN d.is_first AND d.attempts > 0 THEN d.claimed_at END
    FROM dead d;
    DELETE FROM @extschema@.transport_groups g
    WHERE g.group_id = ANY (p_group_ids) AND (p_all OR g.head = g.tail);
    UPDATE @extschema@.transport_groups g
    SET head = g.head + 1, available_at = p_now, attempts = 0, token = NULL, worker = NULL
    WHERE g.group_id = ANY (p_group_ids);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__bury(text[], text, boolean, double precision)
IS
'Internal. Makes the first message (p_all: every message) of each of these groups, which the caller has locked, a '
'dead letter, for p_reason (NULL: it was delivered too often); the groups move on.';
REVOKE ALL ON FUNCTION @extschema@.harel__bury(text[], text, boolean, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_dead_letters(p_group_id text DEFAULT NULL, p_limit integer DEFAULT NULL)
RETURNS TABLE (
    id uuid, group_id text, seq bigint, event text, reason text, attempts integer,
    published_at timestamptz, delivered_at timestamptz, dead_at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF p_group_id IS NULL THEN
        RETURN QUERY
        SELECT
            d.id, d.group_id, d.seq, d.event, d.reason, d.attempts, d.published_at, d.delivered_at, d.dead_at
        FROM @extschema@.dead_letters d
        ORDER BY d.dead_at, d.seq
        LIMIT p_limit;
    ELSE
        RETURN QUERY
        SELECT
            d.id, d.group_id, d.seq, d.event, d.reason, d.attempts, d.published_at, d.delivered_at, d.dead_at
        FROM @extschema@.dead_letters d
        WHERE d.group_id = p_group_id
        ORDER BY d.dead_at, d.seq
        LIMIT p_limit;
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_dead_letters(text, integer)
IS
'The messages taken out of the queue without having been handled, oldest first, at most p_limit (NULL: all), of one '
'group (NULL: of all). Raises ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_dead_letters(text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_redrive(
    p_group_id text DEFAULT NULL,
    p_id uuid DEFAULT NULL,
    p_limit integer DEFAULT NULL,
    p_now double precision DEFAULT NULL
) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_base bigint := extract(epoch FROM clock_timestamp()) * 1000000;
    v_letter record;
    v_head bigint;
    v_count integer := 0;
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_redrive(p_group_id, p_id, p_limit, v_now);
    END IF;
    IF p_group_id IS NULL AND p_id IS NULL THEN
        -- The groups that exist before those that are made here, as in harel_finish().
        PERFORM @extschema@.harel__lock_groups(ARRAY(
            SELECT l.group_id FROM @extschema@.dead_letters l ORDER BY l.dead_at, l.seq LIMIT p_limit
        ));
    END IF;
    -- Latest first, as each goes before the ones put back before it. By time, as this gives them new numbers.
    FOR v_letter IN
        SELECT d.group_id, d.id, d.event, d.published_at
        FROM (
            SELECT l.group_id, l.id, l.seq, l.event, l.published_at
            FROM @extschema@.dead_letters l
            WHERE (p_group_id IS NULL OR l.group_id = p_group_id) AND (p_id IS NULL OR l.id = p_id)
            ORDER BY l.dead_at, l.seq
            LIMIT p_limit
            FOR UPDATE SKIP LOCKED
        ) d
        ORDER BY d.group_id, d.published_at DESC, d.seq DESC
    LOOP
        -- Whoever holds a lease on the group loses it: the message that it is for is no longer the first.
        INSERT INTO @extschema@.transport_groups AS g (group_id, available_at, head, tail, priority)
        VALUES (
            v_letter.group_id, v_now, v_base, v_base,
            coalesce((SELECT e.priority FROM @extschema@.executions e WHERE e.id = v_letter.group_id), 0)
        )
        ON CONFLICT (group_id) DO UPDATE
        SET head = g.head - 1,
            available_at = CASE WHEN g.available_at = 'Infinity' THEN 'Infinity' ELSE v_now END,
            attempts = 0,
            token = NULL,
            worker = NULL
        RETURNING g.head INTO v_head;
        INSERT INTO @extschema@.transport_messages (group_id, seq, event, published_at)
        VALUES (v_letter.group_id, v_head, v_letter.event, v_letter.published_at);
        DELETE FROM @extschema@.dead_letters d WHERE d.id = v_letter.id;
        v_count := v_count + 1;
    END LOOP;
    IF v_count > 0 THEN
        PERFORM @extschema@.harel__wake();
    END IF;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_redrive(text, uuid, integer, double precision)
IS
'Puts dead letters back at the head of their groups, in the order that they once had, and counts their deliveries '
'anew: that of one id, those of one group, or all (the oldest p_limit). Returns how many. Raises ST006 or ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_redrive(text, uuid, integer, double precision) FROM PUBLIC;
