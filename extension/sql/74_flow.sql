-- A statechart as it really runs, found in the traces: process mining, in the sense of a directly-follows graph
-- (van der Aalst, Process Mining, 2016), with states for nodes.
CREATE FUNCTION @extschema@.harel__sample(p_definition_id text, p_limit integer)
RETURNS TABLE (
    id text, active_path text, updated_at timestamptz, has_ended boolean, is_beyond boolean
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
BEGIN
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY
        SELECT e.id, e.active_path, e.updated_at, e.status IN ('DONE', 'CANCELLED', 'FAILED'), e.place > p_limit
        FROM (
            SELECT e.*, row_number() OVER (PARTITION BY e.status, e.is_root ORDER BY e.id COLLATE "C" DESC) AS place
            FROM @extschema@.harel__everywhere_sample(p_definition_id, p_limit) e
        ) e
        WHERE p_limit IS NULL OR e.place <= p_limit::bigint + 1;
        RETURN;
    END IF;
    RETURN QUERY
    WITH RECURSIVE found (definition_id, status) AS (
        (
            SELECT e.definition_id, e.status FROM @extschema@.executions e
            WHERE (e.definition_id, e.status) >= (p_definition_id, '')
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
        WHERE f.definition_id = p_definition_id
    )
    -- Each is one range of executions_by_definition, of which no more is read than is taken.
    SELECT e.id, e.active_path, e.updated_at, e.has_ended, e.place > p_limit
    FROM (SELECT * FROM found f WHERE f.definition_id = p_definition_id) f
    CROSS JOIN (VALUES (true), (false)) AS r (is_root)
    CROSS JOIN LATERAL (
        SELECT
            e.id, e.active_path, e.updated_at, e.status IN ('DONE', 'CANCELLED', 'FAILED') AS has_ended,
            row_number() OVER () AS place
        FROM (
            SELECT e.id, e.active_path, e.updated_at, e.status
            FROM @extschema@.executions e
            WHERE e.definition_id = p_definition_id AND e.status = f.status AND (e.parent_id IS NULL) = r.is_root
            ORDER BY e.id DESC
            LIMIT p_limit::bigint + 1
        ) e
    ) e;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__sample(text, integer)
IS
'Internal. harel_flow(): of each status, roots and children each, the executions of a definition that have the p_limit '
'greatest ids (NULL: all), and one beyond where there are more.';
REVOKE ALL ON FUNCTION @extschema@.harel__sample(text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__entries(p_ids text[])
RETURNS TABLE (
    execution_id text, idx integer, event text, source text, target text, at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
BEGIN
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY SELECT * FROM @extschema@.harel__everywhere_entries(p_ids);
        RETURN;
    END IF;
    RETURN QUERY
    SELECT t.execution_id, t.idx, r.event, r.source, r.target, coalesce(r.at, t.recorded_at)
    FROM unnest(p_ids) AS e (id)
    CROSS JOIN LATERAL (
        SELECT x.execution_id, x.idx, x.entry, x.recorded_at
        FROM @extschema@.trace x
        WHERE x.execution_id = e.id
        OFFSET 0
    ) t
    CROSS JOIN LATERAL @extschema@.harel__step(t.entry) r;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__entries(text[])
IS 'Internal. harel_flow(): what the trace entries of some executions tell.';
REVOKE ALL ON FUNCTION @extschema@.harel__entries(text[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_flow(
    p_definition_id text,
    p_limit integer DEFAULT 5000,
    p_now double precision DEFAULT NULL
) RETURNS TABLE (
    kind text, source text, target text, event text, count bigint, median double precision, p95 double precision,
    waiting bigint, longest double precision, ended bigint
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    RETURN QUERY
    WITH taken AS MATERIALIZED (
        SELECT * FROM @extschema@.harel__sample(p_definition_id, p_limit)
    ), executions AS (
        SELECT * FROM taken t WHERE t.is_beyond IS NOT TRUE
    ), entries AS MATERIALIZED (
        SELECT * FROM @extschema@.harel__entries(ARRAY(SELECT e.id FROM executions e))
    ), steps AS MATERIALIZED (
        SELECT
            s.execution_id, s.source, coalesce(s.target, s.source) AS target, s.event, s.at,
            extract(epoch FROM s.at - s.before)::double precision AS dwell
        FROM (
            SELECT
                n.execution_id, n.event, n.target, n.at,
                coalesce(n.source, lag(n.target) OVER earlier) AS source,
                lag(n.at) OVER earlier AS before
            FROM entries n
            WINDOW earlier AS (PARTITION BY n.execution_id ORDER BY n.idx)
        ) s
    ), here AS MATERIALIZED (
        -- Where they are now the executions know themselves; since when, their last entry.
        SELECT
            e.active_path AS state, e.has_ended,
            greatest(0, v_now - extract(epoch FROM coalesce(l.at, e.updated_at))::double precision) AS age
        FROM executions e
        LEFT JOIN (SELECT s.execution_id, max(s.at) AS at FROM steps s GROUP BY s.execution_id) l
            ON l.execution_id = e.id
    ), states AS (
        SELECT
            u.state,
            sum(u.entered) AS entered,
            percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY u.dwell) AS dwell,
            sum(u.waiting) AS waiting,
            max(u.age) AS longest,
            sum(u.ended) AS ended
        FROM (
            SELECT
                s.target AS state, 1 AS entered, NULL::double precision AS dwell,
                0 AS waiting, NULL::double precision AS age, 0 AS ended
            FROM steps s
            UNION ALL
            SELECT s.source, 0, s.dwell, 0, NULL, 0 FROM steps s
            UNION ALL
            SELECT h.state, 0, NULL, 1, h.age, 0 FROM here h WHERE NOT h.has_ended
            UNION ALL
            SELECT h.state, 0, NULL, 0, NULL, 1 FROM here h WHERE h.has_ended
        ) u
        WHERE u.state IS NOT NULL
        GROUP BY u.state
    ), transitions AS (
        SELECT
            s.source, s.target, s.event, count(*) AS taken,
            percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY s.dwell) AS dwell
        FROM steps s
        WHERE s.target IS NOT NULL
        GROUP BY s.source, s.target, s.event
    ), summary AS (
        SELECT
            CASE WHEN bool_or(t.is_beyond) THEN 'sample' ELSE 'definition' END AS kind,
            count(*) FILTER (WHERE t.is_beyond IS NOT TRUE) AS executions,
            count(*) FILTER (WHERE t.is_beyond IS NOT TRUE AND NOT t.has_ended) AS waiting,
            count(*) FILTER (WHERE t.is_beyond IS NOT TRUE AND t.has_ended) AS ended
        FROM taken t
        HAVING count(*) > 0
    )
    SELECT f.kind, f.source, f.target, f.event, f.count, f.dwell[1], f.dwell[2], f.waiting, f.longest, f.ended
    FROM (
        SELECT
            1 AS place, s.kind, NULL AS source, NULL AS target, NULL AS event, s.executions AS count,
            NULL::double precision[] AS dwell, s.waiting, NULL::double precision AS longest, s.ended
        FROM summary s
        UNION ALL
        SELECT 2, 'state', s.state, NULL, NULL, s.entered, s.dwell, s.waiting, s.longest, s.ended
        FROM states s
        UNION ALL
        SELECT 3, 'transition', t.source, t.target, t.event, t.taken, t.dwell, NULL, NULL, NULL
        FROM transitions t
    ) f
    ORDER BY f.place, f.count DESC, f.source COLLATE "C", f.target COLLATE "C", f.event COLLATE "C";
END
$$;
COMMENT ON FUNCTION @extschema@.harel_flow(text, integer, double precision)
IS
'A definition as it really runs, found in the traces of its executions. A row of kind definition: how many were read '
'(count), have not ended (waiting) and have (ended); its kind is sample where, of a status, only the p_limit with the '
'greatest ids were read, roots and children each (NULL: all). For each state (source): how often it was entered '
'(count), the median and the 95th percentile of the seconds spent in it, the executions that are in it now and have '
'not ended (waiting), the seconds for which the first of them has been (longest), and those that have ended in it. For '
'each transition, from source (NULL: the beginning) to target by event: how often it was taken, and the seconds spent '
'in source before it. An entry that leads to the state that it comes from leaves and enters it anew. Read from the '
'members event, from, to and at of the entries: see harel_timeline(). Raises ST006 or ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_flow(text, integer, double precision) FROM PUBLIC;
