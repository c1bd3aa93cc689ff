-- What is read over all executions of a store that is spread over several nodes. An order with a limit Citus asks of
-- all shards at once. What it cannot plan so is asked of each shard by a function that runs beside it, on the tables
-- that the shard consists of: there every index serves as on a single server, and PostgreSQL knows how much there is.

CREATE FUNCTION @extschema@.harel__shards() RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_shards integer;
    v_tries integer;
    v_ids text[];
BEGIN
    EXECUTE 'SELECT count(*) FROM pg_dist_shard s WHERE s.logicalrelid = $1'
    INTO v_shards USING '@extschema@.executions'::regclass;
    v_tries := v_shards * 16;
    -- A shard is named by some id that would be in it, whether or not there is such an execution.
    LOOP
        EXECUTE
            'SELECT array_agg(s.id) FROM ('
            'SELECT min(n.id) AS id FROM (SELECT n::text AS id FROM generate_series(1, $2) n) n '
            'GROUP BY get_shard_id_for_distribution_column($1, n.id)'
            ') s'
        INTO v_ids USING '@extschema@.executions'::regclass, v_tries;
        EXIT WHEN cardinality(v_ids) >= v_shards;
        v_tries := v_tries * 2;
    END LOOP;
    RETURN v_ids;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__shards()
IS 'Internal. For each shard of a distributed store an id that belongs to it.';
REVOKE ALL ON FUNCTION @extschema@.harel__shards() FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__shard(p_table text, p_id text) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_shard bigint;
BEGIN
    EXECUTE 'SELECT get_shard_id_for_distribution_column($1, $2)'
    INTO v_shard USING ('@extschema@.' || p_table)::regclass, p_id;
    RETURN format('@extschema@.%I', p_table || '_' || v_shard);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__shard(text, text)
IS 'Internal. The name of the table that holds the rows of an id, on the node where they are.';
REVOKE ALL ON FUNCTION @extschema@.harel__shard(text, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__statuses_of_shard(p_id text, p_definition_id text) RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
    v_statuses text[];
BEGIN
    -- As harel_list() does.
    IF p_definition_id IS NULL THEN
        EXECUTE format($sql$
            WITH RECURSIVE found (status) AS (
                SELECT min(e.status) FROM %1$s e
                UNION ALL
                SELECT (SELECT min(e.status) FROM %1$s e WHERE e.status > f.status)
                FROM found f
                WHERE f.status IS NOT NULL
            )
            SELECT array_agg(f.status) FROM found f WHERE f.status IS NOT NULL
        $sql$, @extschema@.harel__shard('executions', p_id))
        INTO v_statuses;
    ELSE
        EXECUTE format($sql$
            WITH RECURSIVE found (definition_id, status) AS (
                (
                    SELECT e.definition_id, e.status FROM %1$s e
                    WHERE (e.definition_id, e.status) >= ($1, '')
                    ORDER BY e.definition_id, e.status
                    LIMIT 1
                )
                UNION ALL
                SELECT n.definition_id, n.status
                FROM found f
                CROSS JOIN LATERAL (
                    SELECT e.definition_id, e.status FROM %1$s e
                    WHERE (e.definition_id, e.status) > (f.definition_id, f.status)
                    ORDER BY e.definition_id, e.status
                    LIMIT 1
                ) AS n
                WHERE f.definition_id = $1
            )
            SELECT array_agg(f.status) FROM found f WHERE f.definition_id = $1
        $sql$, @extschema@.harel__shard('executions', p_id))
        INTO v_statuses USING p_definition_id;
    END IF;
    RETURN coalesce(v_statuses, '{}');
END
$$;
COMMENT ON FUNCTION @extschema@.harel__statuses_of_shard(text, text)
IS 'Internal. The statuses that the executions of a shard have, those of one definition (NULL: all).';
REVOKE ALL ON FUNCTION @extschema@.harel__statuses_of_shard(text, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__list_of_shard(
    p_id text,
    p_definition_id text,
    p_statuses text[],
    p_roots_only boolean,
    p_after text,
    p_before text,
    p_limit bigint
) RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_executions text := @extschema@.harel__shard('executions', p_id);
    v_ids text[];
BEGIN
    IF p_definition_id IS NULL AND p_statuses IS NULL AND p_roots_only IS NOT TRUE THEN
        EXECUTE format($sql$
            SELECT ARRAY(
                SELECT e.id FROM %s e
                WHERE e.id > $1 AND ($2 IS NULL OR e.id < $2)
                ORDER BY e.id
                LIMIT $3
            )
        $sql$, v_executions)
        INTO v_ids USING p_after, p_before, p_limit;
    ELSE
        EXECUTE format($sql$
            SELECT ARRAY(
                SELECT b.id
                FROM (SELECT DISTINCT unnest($2)) AS s (status)
                CROSS JOIN unnest($3) AS r (is_root)
                CROSS JOIN LATERAL (
                    SELECT e.id FROM %s e
                    WHERE %s e.status = s.status AND (e.parent_id IS NULL) = r.is_root
                        AND e.id > $4 AND ($5 IS NULL OR e.id < $5)
                    ORDER BY e.id
                    LIMIT $6
                ) AS b
                ORDER BY b.id
                LIMIT $6
            )
        $sql$, v_executions, CASE WHEN p_definition_id IS NOT NULL THEN 'e.definition_id = $1 AND' ELSE '' END)
        INTO v_ids
        USING
            p_definition_id,
            coalesce(p_statuses, @extschema@.harel__statuses_of_shard(p_id, p_definition_id)),
            CASE WHEN p_roots_only THEN ARRAY[true] ELSE ARRAY[true, false] END,
            p_after,
            p_before,
            p_limit;
    END IF;
    RETURN v_ids;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__list_of_shard(text, text, text[], boolean, text, text, bigint)
IS
'Internal. The ids of one shard that could be on a page of harel_list(): after one id, and before another (NULL: to '
'the last).';
REVOKE ALL ON FUNCTION @extschema@.harel__list_of_shard(text, text, text[], boolean, text, text, bigint) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_list(
    p_definition_id text, p_statuses text[], p_roots_only boolean, p_after text, p_limit bigint
) RETURNS TABLE (
    id text,
    definition_id text,
    status text,
    outcome text,
    active_path text,
    version integer,
    parent_id text,
    created_at timestamptz,
    updated_at timestamptz,
    finished_at timestamptz,
    next_cursor text
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_shard text;
    v_some text[];
    v_ids text[] := '{}';
    v_next text;
BEGIN
    FOREACH v_shard IN ARRAY @extschema@.harel__shards() LOOP
        -- A page found so far bounds what the other shards can add to it.
        SELECT x.* INTO v_some
        FROM @extschema@.harel__list_of_shard(
            v_shard, p_definition_id, p_statuses, p_roots_only, p_after,
            CASE WHEN cardinality(v_ids) = p_limit THEN v_ids[cardinality(v_ids)] END, p_limit
        ) x;
        v_ids := ARRAY(SELECT i.id FROM unnest(v_ids || v_some) AS i (id) ORDER BY i.id COLLATE "C" LIMIT p_limit);
    END LOOP;
    IF cardinality(v_ids) = p_limit THEN
        v_next := @extschema@.harel__cursor(v_ids[cardinality(v_ids) - 1]);
    END IF;
    RETURN QUERY
    SELECT
        e.id, e.definition_id, nullif(e.status, ''), e.outcome, e.active_path, e.version, e.parent_id,
        e.created_at, e.updated_at, e.finished_at,
        -- On whichever row is the last: one may have been deleted since its id was found.
        CASE WHEN lead(e.id) OVER (ORDER BY e.id) IS NULL THEN v_next END
    FROM @extschema@.executions e
    WHERE e.id = ANY (v_ids[1:p_limit - 1])
    ORDER BY e.id;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_list(text, text[], boolean, text, bigint)
IS 'Internal. harel_list() over all nodes: the page after an id, of one row less than p_limit.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_list(text, text[], boolean, text, bigint) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__stats_of_shard(
    p_id text,
    p_now double precision,
    p_leased bigint,
    p_outbox bigint,
    p_overdue bigint,
    OUT executions jsonb,
    OUT queued bigint,
    OUT available_at double precision,
    OUT leased bigint,
    OUT outbox bigint,
    OUT broadcasts bigint,
    OUT spawns bigint,
    OUT timers bigint,
    OUT overdue_timers bigint,
    OUT fire_at double precision,
    OUT dead_letters bigint,
    OUT processed_events bigint
) RETURNS record
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    v_executions text := @extschema@.harel__shard('executions', p_id);
    v_groups text := @extschema@.harel__shard('transport_groups', p_id);
    v_outbox text := @extschema@.harel__shard('outbox', p_id);
    v_timers text := @extschema@.harel__shard('timers', p_id);
    v_totals bigint[];
BEGIN
    EXECUTE format($sql$
        SELECT coalesce(jsonb_object_agg(s.status, @extschema@.harel__estimate(
            (SELECT count(*) FROM (SELECT FROM %1$s e WHERE e.status = s.status LIMIT 1000) e), %1$L, s.status
        )), '{}')
        FROM (SELECT * FROM unnest($1) LIMIT 100) AS s (status)
    $sql$, v_executions)
    INTO executions USING @extschema@.harel__statuses_of_shard(p_id, NULL);
    EXECUTE (
        SELECT 'SELECT ARRAY[' || string_agg(
            format(
                '@extschema@.harel__estimate((SELECT count(*) FROM (SELECT FROM %1$s LIMIT 1000) x), %1$L)',
                @extschema@.harel__shard(t.name, p_id)
            ),
            ', ' ORDER BY t.place
        ) || ']'
        FROM unnest(
            '{transport_messages,outbox,spawns,timers,dead_letters,processed_events}'::text[]
        ) WITH ORDINALITY AS t (name, place)
    )
    INTO v_totals;
    queued := v_totals[1];
    spawns := v_totals[3];
    timers := v_totals[4];
    dead_letters := v_totals[5];
    processed_events := v_totals[6];
    EXECUTE format($sql$
        SELECT
            (
                SELECT greatest(g.available_at, -1e15) FROM %1$s g
                WHERE g.available_at <= $1
                ORDER BY g.available_at
                LIMIT 1
            ),
            (
                SELECT count(*) FROM (
                    SELECT FROM %1$s g
                    WHERE g.available_at > $1 AND g.available_at < 'Infinity' AND g.token IS NOT NULL
                    LIMIT $2
                ) g
            ),
            (SELECT count(*) FROM (SELECT FROM %2$s o WHERE o.target_id IS NOT NULL LIMIT $3) o),
            (SELECT count(*) FROM (SELECT FROM %3$s t WHERE t.fire_at <= $1 LIMIT $4) t),
            (
                SELECT greatest(t.fire_at, -1e15) FROM %3$s t
                WHERE t.fire_at <= $1
                ORDER BY t.fire_at, t.execution_id, t.path
                LIMIT 1
            )
    $sql$, v_groups, v_outbox, v_timers)
    INTO available_at, leased, outbox, overdue_timers, fire_at USING p_now, p_leased, p_outbox, p_overdue;
    broadcasts := greatest(0, v_totals[2] - outbox);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__stats_of_shard(text, double precision, bigint, bigint, bigint)
IS 'Internal. harel_stats() of one shard, which counts leases, outbox and overdue timers up to so many.';
REVOKE ALL ON FUNCTION @extschema@.harel__stats_of_shard(text, double precision, bigint, bigint, bigint) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_stats(
    p_now double precision,
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
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_shard text;
    v_row record;
    v_available_at double precision;
    v_fire_at double precision;
BEGIN
    executions := '{}';
    queued := 0;
    leased := 0;
    outbox := 0;
    broadcasts := 0;
    spawns := 0;
    timers := 0;
    overdue_timers := 0;
    dead_letters := 0;
    processed_events := 0;
    FOREACH v_shard IN ARRAY @extschema@.harel__shards() LOOP
        SELECT x.* INTO v_row
        FROM @extschema@.harel__stats_of_shard(
            v_shard, p_now, 10000 - leased, 10000 - outbox, 10000 - overdue_timers
        ) x;
        executions := executions || coalesce(
            (
                SELECT jsonb_object_agg(e.key, e.value::bigint + coalesce((executions -> e.key)::bigint, 0))
                FROM jsonb_each(v_row.executions) e
            ),
            '{}'
        );
        queued := queued + v_row.queued;
        v_available_at := least(v_available_at, v_row.available_at);
        leased := leased + v_row.leased;
        outbox := outbox + v_row.outbox;
        broadcasts := broadcasts + v_row.broadcasts;
        spawns := spawns + v_row.spawns;
        timers := timers + v_row.timers;
        overdue_timers := overdue_timers + v_row.overdue_timers;
        v_fire_at := least(v_fire_at, v_row.fire_at);
        dead_letters := dead_letters + v_row.dead_letters;
        processed_events := processed_events + v_row.processed_events;
    END LOOP;
    oldest_wait := p_now - v_available_at;
    oldest_overdue := p_now - v_fire_at;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_stats(double precision)
IS 'Internal. harel_stats() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_stats(double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__definitions_of_shard(
    p_id text, OUT definition_ids text[], OUT statuses text[], OUT counts bigint[]
) RETURNS record
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
    -- As harel_definitions() does.
    EXECUTE format($sql$
        WITH RECURSIVE found (definition_id, status) AS (
            (
                SELECT e.definition_id, e.status FROM %1$s e
                ORDER BY e.definition_id, e.status
                LIMIT 1
            )
            UNION ALL
            SELECT n.definition_id, n.status
            FROM found f
            CROSS JOIN LATERAL (
                SELECT e.definition_id, e.status FROM %1$s e
                WHERE (e.definition_id, e.status) > (f.definition_id, f.status)
                ORDER BY e.definition_id, e.status
                LIMIT 1
            ) AS n
        )
        SELECT array_agg(f.definition_id), array_agg(f.status), array_agg((
            SELECT count(*) FROM (
                SELECT FROM %1$s e
                WHERE (e.definition_id, e.status) >= (f.definition_id, f.status)
                    AND (e.definition_id, e.status) <= (f.definition_id, f.status)
                LIMIT 10000
            ) e
        ))
        FROM (SELECT * FROM found LIMIT 1000) f
    $sql$, @extschema@.harel__shard('executions', p_id))
    INTO definition_ids, statuses, counts;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__definitions_of_shard(text)
IS 'Internal. harel_definitions() of one shard.';
REVOKE ALL ON FUNCTION @extschema@.harel__definitions_of_shard(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_definitions()
RETURNS TABLE (definition_id text, status text, executions bigint)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_shard text;
    v_row record;
    v_definition_ids text[] := '{}';
    v_statuses text[] := '{}';
    v_counts bigint[] := '{}';
BEGIN
    FOREACH v_shard IN ARRAY @extschema@.harel__shards() LOOP
        SELECT x.* INTO v_row FROM @extschema@.harel__definitions_of_shard(v_shard) x;
        v_definition_ids := v_definition_ids || v_row.definition_ids;
        v_statuses := v_statuses || v_row.statuses;
        v_counts := v_counts || v_row.counts;
    END LOOP;
    RETURN QUERY
    SELECT d.definition_id, nullif(d.status, ''), least(sum(d.count), 10000)::bigint
    FROM unnest(v_definition_ids, v_statuses, v_counts) AS d (definition_id, status, count)
    GROUP BY d.definition_id, d.status
    ORDER BY d.definition_id COLLATE "C", d.status COLLATE "C"
    LIMIT 1000;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_definitions()
IS 'Internal. harel_definitions() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_definitions() FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_tree(p_id text, p_limit integer)
RETURNS TABLE (
    depth integer, id text, parent_id text, definition_id text, status text, outcome text, active_path text,
    version integer, created_at timestamptz, updated_at timestamptz, finished_at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_ids text[];
    v_parents text[] := ARRAY[NULL];
    v_level text[];
    v_above text[];
    v_child record;
    v_height integer := 1;
    v_depths integer[];
BEGIN
    SELECT ARRAY[e.id] INTO v_ids FROM @extschema@.executions e WHERE e.id = p_id;
    v_level := v_ids;
    -- In a circle, which whoever writes a parent may write, only the first is met again: nobody has two parents.
    WHILE v_level <> '{}' AND (p_limit IS NULL OR v_height < p_limit) LOOP
        v_above := v_level;
        v_level := '{}';
        FOR v_child IN
            SELECT e.id, e.parent_id
            FROM @extschema@.executions e
            JOIN unnest(v_above) WITH ORDINALITY AS a (id, place) ON a.id = e.parent_id
            WHERE octet_length(e.parent_id) <= 1000 AND e.id <> p_id
            ORDER BY a.place, e.id
            LIMIT p_limit
        LOOP
            v_level := v_level || v_child.id;
            v_ids := v_ids || v_child.id;
            v_parents := v_parents || v_child.parent_id;
        END LOOP;
        v_height := v_height + 1;
    END LOOP;
    WITH RECURSIVE tree (id, ids) AS (
        SELECT p_id COLLATE "C", ARRAY[p_id COLLATE "C"]
        UNION ALL
        SELECT c.id, t.ids || c.id
        FROM tree t
        JOIN unnest(v_ids, v_parents) AS c (id, parent_id) ON c.parent_id = t.id
    )
    SELECT array_agg(t.id ORDER BY t.ids), array_agg(cardinality(t.ids) - 1 ORDER BY t.ids)
    INTO v_ids, v_depths
    FROM (SELECT * FROM tree ORDER BY tree.ids LIMIT p_limit) t
    WHERE v_ids IS NOT NULL;
    RETURN QUERY
    SELECT
        t.depth, e.id, e.parent_id, e.definition_id, nullif(e.status, ''), e.outcome, e.active_path, e.version,
        e.created_at, e.updated_at, e.finished_at
    FROM @extschema@.executions e
    JOIN unnest(v_ids, v_depths) WITH ORDINALITY AS t (id, depth, place) ON t.id = e.id
    ORDER BY t.place;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_tree(text, integer)
IS 'Internal. harel_tree() over all nodes, level by level.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_tree(text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_queue(
    p_id text, p_state text, p_limit integer, p_now double precision
) RETURNS TABLE (
    group_id text, state text, seconds double precision, messages bigint, attempts integer, priority smallint,
    worker text, event text, published_at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_after double precision := CASE p_state WHEN 'delayed' THEN p_now WHEN 'held' THEN 1.7e308 ELSE '-Infinity' END;
    v_until double precision := CASE p_state WHEN 'waiting' THEN p_now WHEN 'delayed' THEN 1.7e308 ELSE 'Infinity' END;
    v_id text;
    v_ids text[] := '{}';
BEGIN
    IF p_id IS NOT NULL THEN
        v_ids := ARRAY[p_id];
    ELSIF p_state = 'leased' THEN
        FOR v_id IN
            SELECT g.group_id FROM @extschema@.transport_groups g
            WHERE g.available_at > p_now AND g.available_at < 'Infinity' AND g.token IS NOT NULL
            ORDER BY g.claimed_at, g.group_id
            LIMIT p_limit
        LOOP
            v_ids := v_ids || v_id;
        END LOOP;
    ELSE
        FOR v_id IN
            SELECT g.group_id FROM @extschema@.transport_groups g
            WHERE g.available_at > v_after AND g.available_at <= v_until
                AND (p_state IS DISTINCT FROM 'delayed' OR g.token IS NULL)
            ORDER BY g.available_at
            LIMIT p_limit
        LOOP
            v_ids := v_ids || v_id;
        END LOOP;
    END IF;
    RETURN QUERY
    SELECT
        q.group_id, q.state,
        CASE q.state
            WHEN 'waiting' THEN p_now - greatest(q.available_at, -1e15)
            WHEN 'leased' THEN p_now - extract(epoch FROM q.claimed_at)::double precision
            WHEN 'delayed' THEN q.available_at - p_now
        END,
        q.tail - q.head + 1, q.attempts, q.priority, CASE WHEN q.state = 'leased' THEN q.worker END, q.event,
        q.published_at
    FROM (
        SELECT
            g.group_id, g.available_at, g.head, g.tail, g.priority, g.attempts, g.worker, g.claimed_at, m.event,
            m.published_at,
            CASE
                WHEN g.available_at = 'Infinity' THEN 'held'
                WHEN g.available_at <= p_now THEN 'waiting'
                WHEN g.token IS NULL THEN 'delayed'
                ELSE 'leased'
            END AS state
        FROM @extschema@.transport_groups g
        JOIN @extschema@.transport_messages m ON m.group_id = g.group_id AND m.seq = g.head
        WHERE g.group_id = ANY (v_ids)
    ) q
    WHERE p_state IS NULL OR q.state = p_state
    ORDER BY array_position(v_ids, q.group_id)
    LIMIT p_limit;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_queue(text, text, integer, double precision)
IS 'Internal. harel_queue() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_queue(text, text, integer, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__activity_of_shard(
    p_id text,
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
DECLARE
    v_executions regclass := @extschema@.harel__shard('executions', p_id);
    v_messages regclass := @extschema@.harel__shard('transport_messages', p_id);
BEGIN
    commits := pg_stat_get_tuples_inserted(v_executions) + pg_stat_get_tuples_updated(v_executions);
    published := pg_stat_get_tuples_inserted(v_messages);
    settled := pg_stat_get_tuples_deleted(v_messages);
    processed_events := pg_stat_get_tuples_inserted(@extschema@.harel__shard('processed_events', p_id)::regclass);
    emitted := pg_stat_get_tuples_inserted(@extschema@.harel__shard('outbox', p_id)::regclass);
    dead_letters := pg_stat_get_tuples_inserted(@extschema@.harel__shard('dead_letters', p_id)::regclass);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__activity_of_shard(text)
IS 'Internal. harel_activity() of one shard.';
REVOKE ALL ON FUNCTION @extschema@.harel__activity_of_shard(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_activity(
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
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_shard text;
    v_row record;
BEGIN
    at := clock_timestamp();
    FOREACH v_shard IN ARRAY @extschema@.harel__shards() LOOP
        SELECT x.* INTO v_row FROM @extschema@.harel__activity_of_shard(v_shard) x;
        commits := coalesce(commits, 0) + v_row.commits;
        published := coalesce(published, 0) + v_row.published;
        settled := coalesce(settled, 0) + v_row.settled;
        processed_events := coalesce(processed_events, 0) + v_row.processed_events;
        emitted := coalesce(emitted, 0) + v_row.emitted;
        dead_letters := coalesce(dead_letters, 0) + v_row.dead_letters;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_activity()
IS 'Internal. harel_activity() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_activity() FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__health_of_shard(p_id text)
RETURNS TABLE (problem text, detail text, remedy text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tables regclass[] := '{}';
    v_table text;
BEGIN
    FOREACH v_table IN ARRAY ARRAY[
        'executions', 'outbox', 'processed_events', 'timers', 'spawns', 'trace', 'transport_groups',
        'transport_messages', 'dead_letters'
    ] LOOP
        v_tables := v_tables || @extschema@.harel__shard(v_table, p_id)::regclass;
    END LOOP;
    RETURN QUERY
    SELECT
        'an index of a shard was left unfinished: what it serves reads the whole shard',
        format('%s.', i.indexrelid::regclass),
        format('On the node of the shard: REINDEX INDEX CONCURRENTLY %s;', i.indexrelid::regclass)
    FROM pg_index i
    WHERE i.indrelid = ANY (v_tables::oid[]) AND NOT i.indisvalid
    ORDER BY i.indexrelid::regclass::text COLLATE "C";
    RETURN QUERY SELECT * FROM @extschema@.harel__health_of_vacuum(v_tables);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__health_of_shard(text)
IS 'Internal. harel__health_of_tables() of one shard.';
REVOKE ALL ON FUNCTION @extschema@.harel__health_of_shard(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__health_of_node(p_id text, p_now double precision)
RETURNS TABLE (problem text, detail text, remedy text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_node text;
BEGIN
    EXECUTE 'SELECT n.nodename || '':'' || n.nodeport FROM pg_dist_local_group l JOIN pg_dist_node n USING (groupid) LIMIT 1'
    INTO v_node;
    RETURN QUERY
    SELECT h.problem, format('Node %s: %s', v_node, h.detail), h.remedy
    FROM @extschema@.harel__health_of_server(p_now) h;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__health_of_node(text, double precision)
IS 'Internal. harel__health_of_server() of the node that an id belongs to.';
REVOKE ALL ON FUNCTION @extschema@.harel__health_of_node(text, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_health(p_now double precision)
RETURNS TABLE (problem text, detail text, remedy text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_shard text;
    v_shards text[] := @extschema@.harel__shards();
    v_others text[];
BEGIN
    -- The node that was asked has had its say.
    EXECUTE
        'SELECT array_agg(n.id) FROM ('
        'SELECT min(s.id) AS id FROM unnest($1) AS s (id) '
        'JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column($2, s.id) '
        'WHERE p.groupid <> (SELECT l.groupid FROM pg_dist_local_group l) '
        'GROUP BY p.groupid ORDER BY p.groupid'
        ') n'
    INTO v_others USING v_shards, '@extschema@.executions'::regclass;
    FOREACH v_shard IN ARRAY coalesce(v_others, '{}') LOOP
        RETURN QUERY SELECT x.* FROM @extschema@.harel__health_of_node(v_shard, p_now) x;
    END LOOP;
    FOREACH v_shard IN ARRAY v_shards LOOP
        RETURN QUERY SELECT x.* FROM @extschema@.harel__health_of_shard(v_shard) x;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_health(double precision)
IS 'Internal. harel_health(): what holds for the other nodes and for the shards.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_health(double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_stuck_leases(p_before timestamptz, p_now double precision)
RETURNS TABLE (group_id text, worker text, claimed_at timestamptz, attempts integer)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT g.group_id, g.worker, g.claimed_at, g.attempts
    FROM @extschema@.transport_groups g
    WHERE g.available_at > p_now AND g.available_at < 'Infinity' AND g.token IS NOT NULL AND g.claimed_at < p_before
    ORDER BY g.available_at
    LIMIT 10;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_stuck_leases(timestamptz, double precision)
IS 'Internal. harel__stuck_leases() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_stuck_leases(timestamptz, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__sample_of_shard(p_id text, p_definition_id text, p_limit integer)
RETURNS TABLE (
    id text, status text, is_root boolean, active_path text, updated_at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
BEGIN
    RETURN QUERY EXECUTE format($sql$
        SELECT e.id, e.status, r.is_root, e.active_path, e.updated_at
        FROM unnest($1) AS s (status)
        CROSS JOIN (VALUES (true), (false)) AS r (is_root)
        CROSS JOIN LATERAL (
            SELECT e.id, e.status, e.active_path, e.updated_at
            FROM %s e
            WHERE e.definition_id = $2 AND e.status = s.status AND (e.parent_id IS NULL) = r.is_root
            ORDER BY e.id DESC
            LIMIT $3
        ) e
    $sql$, @extschema@.harel__shard('executions', p_id))
    USING @extschema@.harel__statuses_of_shard(p_id, p_definition_id), p_definition_id, p_limit::bigint + 1;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__sample_of_shard(text, text, integer)
IS 'Internal. The executions of one shard that harel__sample() could take.';
REVOKE ALL ON FUNCTION @extschema@.harel__sample_of_shard(text, text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_sample(p_definition_id text, p_limit integer)
RETURNS TABLE (
    id text, status text, is_root boolean, active_path text, updated_at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_shard text;
BEGIN
    FOREACH v_shard IN ARRAY @extschema@.harel__shards() LOOP
        RETURN QUERY SELECT x.* FROM @extschema@.harel__sample_of_shard(v_shard, p_definition_id, p_limit) x;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_sample(text, integer)
IS 'Internal. The executions of all nodes that harel__sample() could take, from each shard as many as it takes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_sample(text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__entries_of_shard(p_id text, p_ids text[])
RETURNS TABLE (
    execution_id text, idx integer, event text, source text, target text, at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
BEGIN
    RETURN QUERY EXECUTE format($sql$
        SELECT t.execution_id, t.idx, r.event, r.source, r.target, coalesce(r.at, t.recorded_at)
        FROM unnest($1) AS e (id)
        CROSS JOIN LATERAL (SELECT * FROM %s x WHERE x.execution_id = e.id OFFSET 0) t
        CROSS JOIN LATERAL @extschema@.harel__step(t.entry) r
    $sql$, @extschema@.harel__shard('trace', p_id))
    USING p_ids;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__entries_of_shard(text, text[])
IS 'Internal. harel__entries() of executions of one shard.';
REVOKE ALL ON FUNCTION @extschema@.harel__entries_of_shard(text, text[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_entries(p_ids text[])
RETURNS TABLE (
    execution_id text, idx integer, event text, source text, target text, at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_ids text[];
BEGIN
    FOR v_ids IN EXECUTE
        'SELECT array_agg(i.id) FROM unnest($1) AS i (id) GROUP BY get_shard_id_for_distribution_column($2, i.id)'
        USING p_ids, '@extschema@.executions'::regclass
    LOOP
        RETURN QUERY SELECT x.* FROM @extschema@.harel__entries_of_shard(v_ids[1], v_ids) x;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_entries(text[])
IS 'Internal. harel__entries() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_entries(text[]) FROM PUBLIC;
