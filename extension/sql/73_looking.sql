-- What people look at: the command line, the console and psql. No worker needs any of it.

-- An entry tells of its step by members that our clients and adapters write: `event`, the kind of what was handled (or
-- an object with a `kind`), `from` and `to`, paths, and `at`, seconds since the epoch.
CREATE FUNCTION @extschema@.harel__step(
    p_entry text, OUT event text, OUT source text, OUT target text, OUT at timestamptz
) RETURNS record
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_entry jsonb;
    v_json json;
BEGIN
    BEGIN
        v_entry := p_entry::jsonb;
    EXCEPTION WHEN data_exception OR program_limit_exceeded OR feature_not_supported OR internal_error THEN
        BEGIN
            -- jsonb holds less than JSON allows.
            v_json := @extschema@.harel__decodable(p_entry);
            v_entry := jsonb_build_object(
                'event', CASE json_typeof(v_json -> 'event')
                    WHEN 'object' THEN v_json #>> '{event,kind}'
                    ELSE v_json ->> 'event'
                END,
                'from', v_json ->> 'from',
                'to', v_json ->> 'to',
                'at', CASE
                    WHEN json_typeof(v_json -> 'at') = 'number' AND v_json ->> 'at' ~ '^-?[0-9.]{1,40}$'
                        THEN (v_json ->> 'at')::numeric
                END
            );
        EXCEPTION WHEN data_exception OR program_limit_exceeded OR feature_not_supported THEN
            RETURN;
        END;
    END;
    event := CASE jsonb_typeof(v_entry -> 'event')
        WHEN 'object' THEN v_entry #>> '{event,kind}'
        ELSE v_entry ->> 'event'
    END;
    source := v_entry ->> 'from';
    target := v_entry ->> 'to';
    -- Within the years that a timestamp can hold.
    IF jsonb_typeof(v_entry -> 'at') = 'number' AND abs((v_entry ->> 'at')::numeric) < 200000000000 THEN
        at := to_timestamp(round((v_entry ->> 'at')::numeric, 6)::double precision);
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__step(text)
IS 'Internal. What a trace entry tells of its step; NULL what it does not, as where it is not a JSON object.';
REVOKE ALL ON FUNCTION @extschema@.harel__step(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_timeline(p_id text, p_after integer DEFAULT NULL, p_limit integer DEFAULT NULL)
RETURNS TABLE (
    idx integer, at timestamptz, dwell double precision, event text, source text, target text, entry text
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    RETURN QUERY
    SELECT s.idx, s.at, s.dwell, s.event, s.source, s.target, s.entry
    FROM (
        SELECT
            t.idx,
            coalesce(r.at, t.recorded_at) AS at,
            extract(
                epoch FROM coalesce(r.at, t.recorded_at) - lag(coalesce(r.at, t.recorded_at)) OVER earlier
            )::double precision AS dwell,
            r.event,
            coalesce(r.source, lag(r.target) OVER earlier) AS source,
            r.target,
            t.entry,
            row_number() OVER (ORDER BY t.idx DESC) AS place
        FROM (
            SELECT t.idx, t.recorded_at, t.entry
            FROM @extschema@.trace t
            WHERE t.execution_id = p_id AND t.idx >= coalesce(p_after, 0)
            ORDER BY t.idx DESC
            -- One more, to know how long the state before the first was.
            LIMIT p_limit::bigint + 1
        ) t
        CROSS JOIN LATERAL @extschema@.harel__step(t.entry) r
        WINDOW earlier AS (ORDER BY t.idx)
    ) s
    WHERE s.idx > coalesce(p_after, -1) AND (p_limit IS NULL OR s.place <= p_limit)
    ORDER BY s.idx;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_timeline(text, integer, integer)
IS
'The trace of an execution, oldest entry first, with what each tells of its step: the event''s kind, the states it '
'leads from and to (members event, from and to of the entry; without from, the state that the entry before led to), '
'when it was (member at, seconds since the epoch, or else recorded_at), and dwell, the seconds since the entry before. '
'Of the entries numbered higher than p_after (NULL: of all) the last p_limit (NULL: all). Raises ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_timeline(text, integer, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_tree(p_id text, p_limit integer DEFAULT 100)
RETURNS TABLE (
    depth integer, id text, parent_id text, definition_id text, status text, outcome text, active_path text,
    version integer, created_at timestamptz, updated_at timestamptz, finished_at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY SELECT * FROM @extschema@.harel__everywhere_tree(p_id, p_limit);
        RETURN;
    END IF;
    RETURN QUERY
    WITH RECURSIVE tree (id, ids) AS (
        SELECT e.id, ARRAY[e.id] FROM @extschema@.executions e WHERE e.id = p_id
        UNION ALL
        SELECT b.id, b.ids
        FROM (
            SELECT c.id, t.ids || c.id AS ids
            FROM tree t
            CROSS JOIN LATERAL (
                SELECT e.id FROM @extschema@.executions e
                WHERE e.parent_id = t.id AND octet_length(e.parent_id) <= 1000
                ORDER BY e.id
                LIMIT p_limit
            ) c
            -- Whoever writes a parent may write a circle.
            WHERE c.id <> ALL (t.ids)
                -- What has so many before it, above it or beside it, is not among the first.
                AND (p_limit IS NULL OR cardinality(t.ids) < p_limit)
            ORDER BY t.ids, c.id
            LIMIT p_limit
        ) b
    )
    SELECT
        cardinality(t.ids) - 1, e.id, e.parent_id, e.definition_id, nullif(e.status, ''), e.outcome, e.active_path,
        e.version, e.created_at, e.updated_at, e.finished_at
    FROM tree t
    CROSS JOIN LATERAL (SELECT * FROM @extschema@.executions x WHERE x.id = t.id OFFSET 0) e
    ORDER BY t.ids
    LIMIT p_limit;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_tree(text, integer)
IS
'An execution (depth 0) and below it its children, their children and so on, each under its parent in the order of the '
'ids, without their data; at most p_limit rows (NULL: all), none where there is no such execution. Raises ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_tree(text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_timers(p_id text DEFAULT NULL, p_limit integer DEFAULT NULL)
RETURNS TABLE (execution_id text, path text, fire_at double precision)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF p_id IS NULL THEN
        RETURN QUERY SELECT * FROM @extschema@.harel_due_timers('Infinity', p_limit);
    ELSE
        RETURN QUERY
        SELECT t.execution_id, t.path, t.fire_at
        FROM @extschema@.timers t
        WHERE t.execution_id = p_id
        ORDER BY t.fire_at, t.path
        LIMIT p_limit;
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_timers(text, integer)
IS
'The timers that are armed, due or not, earliest first, at most p_limit (NULL: all), of one execution (NULL: of all). '
'Raises ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_timers(text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_queue(
    p_id text DEFAULT NULL,
    p_state text DEFAULT NULL,
    p_limit integer DEFAULT 100,
    p_now double precision DEFAULT NULL
) RETURNS TABLE (
    group_id text, state text, seconds double precision, messages bigint, attempts integer, priority smallint,
    worker text, event text, published_at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_after double precision;
    v_until double precision := 'Infinity';
    v_ids text[] := ARRAY[p_id];
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF p_state NOT IN ('waiting', 'leased', 'delayed', 'held') THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST015',
            MESSAGE = 'unknown state of a group',
            DETAIL = format('The state is %L.', left(p_state, 40)),
            HINT = 'Pass waiting, leased, delayed or held, or NULL for all.';
    END IF;
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY SELECT * FROM @extschema@.harel__everywhere_queue(p_id, p_state, p_limit, v_now);
        RETURN;
    END IF;
    IF p_id IS NULL AND p_state = 'leased' THEN
        v_ids := ARRAY(
            SELECT g.group_id FROM @extschema@.transport_groups g
            WHERE g.available_at > v_now AND g.available_at < 'Infinity' AND g.token IS NOT NULL
            ORDER BY g.claimed_at, g.group_id
            LIMIT p_limit
        );
    ELSIF p_id IS NULL THEN
        -- Nothing waits below the floor of the queue for longer than a moment.
        v_after := (SELECT (f.last_value / 1000000.0)::double precision - 1 FROM @extschema@.transport_floor f);
        CASE p_state
            WHEN 'waiting' THEN v_until := v_now;
            WHEN 'delayed' THEN v_after := v_now; v_until := 1.7e308;
            WHEN 'held' THEN v_after := 1.7e308;
            ELSE NULL;
        END CASE;
        v_ids := ARRAY(
            SELECT g.group_id FROM @extschema@.transport_groups g
            WHERE g.available_at > v_after AND g.available_at <= v_until
                AND (p_state IS DISTINCT FROM 'delayed' OR g.token IS NULL)
            ORDER BY g.available_at
            LIMIT p_limit
        );
    END IF;
    RETURN QUERY
    SELECT
        g.group_id, g.state,
        CASE g.state
            WHEN 'waiting' THEN v_now - greatest(g.available_at, -1e15)
            WHEN 'leased' THEN v_now - extract(epoch FROM g.claimed_at)::double precision
            WHEN 'delayed' THEN g.available_at - v_now
        END,
        g.messages, g.attempts, g.priority, CASE WHEN g.state = 'leased' THEN g.worker END, m.event, m.published_at
    FROM unnest(v_ids) WITH ORDINALITY AS i (id, place)
    CROSS JOIN LATERAL (
        SELECT
            x.*,
            x.tail - x.head + 1 AS messages,
            CASE
                WHEN x.available_at = 'Infinity' THEN 'held'
                WHEN x.available_at <= v_now THEN 'waiting'
                WHEN x.token IS NULL THEN 'delayed'
                ELSE 'leased'
            END AS state
        FROM @extschema@.transport_groups x
        WHERE x.group_id = i.id
        OFFSET 0
    ) g
    CROSS JOIN LATERAL (
        SELECT * FROM @extschema@.transport_messages x
        WHERE x.group_id = g.group_id AND x.seq = g.head
        OFFSET 0
    ) m
    WHERE p_state IS NULL OR g.state = p_state
    ORDER BY i.place
    LIMIT p_limit;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_queue(text, text, integer, double precision)
IS
'The groups that have messages, at most p_limit (NULL: all), one group (p_id; NULL: all), or those in one state: '
'waiting (for a worker, for so many seconds; longest first), leased (to a worker, for so many seconds since it was '
'claimed; longest first where p_state asks for it), delayed (for so many seconds to come) or held (while the execution '
'is suspended; seconds is NULL). Each with the number of its messages, its first one, and how often that was '
'delivered. Raises ST006, ST008 or ST015.';
REVOKE ALL ON FUNCTION @extschema@.harel_queue(text, text, integer, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_definitions()
RETURNS TABLE (definition_id text, status text, executions bigint)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY SELECT * FROM @extschema@.harel__everywhere_definitions();
        RETURN;
    END IF;
    RETURN QUERY
    WITH RECURSIVE found (definition_id, status) AS (
        (
            SELECT e.definition_id, e.status FROM @extschema@.executions e
            ORDER BY e.definition_id, e.status
            LIMIT 1
        )
        UNION ALL
        SELECT n.definition_id, n.status
        FROM found f
        CROSS JOIN LATERAL (
            SELECT e.definition_id, e.status FROM @extschema@.executions e
            WHERE (e.definition_id, e.status) > (f.definition_id, f.status)
            ORDER BY e.definition_id, e.status
            LIMIT 1
        ) AS n
    )
    SELECT f.definition_id, nullif(f.status, ''), (
        SELECT count(*) FROM (
            SELECT FROM @extschema@.executions e
            -- Compared as a pair, so that no index but the one by definition can serve.
            WHERE (e.definition_id, e.status) >= (f.definition_id, f.status)
                AND (e.definition_id, e.status) <= (f.definition_id, f.status)
            LIMIT 10000
        ) e
    )
    FROM (SELECT * FROM found LIMIT 1000) f;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_definitions()
IS
'The definitions that there are executions of, with the number of these in each status, counted up to 10000; at most '
'1000 rows.';
REVOKE ALL ON FUNCTION @extschema@.harel_definitions() FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_activity(
    OUT at timestamptz,
    OUT commits bigint,
    OUT published bigint,
    OUT settled bigint,
    OUT processed_events bigint,
    OUT emitted bigint,
    OUT dead_letters bigint
) RETURNS record
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF @extschema@.harel__is_distributed() THEN
        SELECT a.* INTO at, commits, published, settled, processed_events, emitted, dead_letters
        FROM @extschema@.harel__everywhere_activity() a;
        RETURN;
    END IF;
    at := clock_timestamp();
    commits := pg_stat_get_tuples_inserted('@extschema@.executions'::regclass)
        + pg_stat_get_tuples_updated('@extschema@.executions'::regclass);
    published := pg_stat_get_tuples_inserted('@extschema@.transport_messages'::regclass);
    settled := pg_stat_get_tuples_deleted('@extschema@.transport_messages'::regclass);
    processed_events := pg_stat_get_tuples_inserted('@extschema@.processed_events'::regclass);
    emitted := pg_stat_get_tuples_inserted('@extschema@.outbox'::regclass);
    dead_letters := pg_stat_get_tuples_inserted('@extschema@.dead_letters'::regclass);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_activity()
IS
'How much has been done since the statistics of the server began, by what PostgreSQL counts for its tables (about a '
'second late, transactions rolled back included): writes of executions, messages published and settled, events '
'handled, events put into the outbox, dead letters. Two calls make a rate: the difference, by that of their at.';
REVOKE ALL ON FUNCTION @extschema@.harel_activity() FROM PUBLIC;
