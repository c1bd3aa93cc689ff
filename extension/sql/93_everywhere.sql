-- What is done over all executions of a store that is spread over several nodes. Each of these stands in for the
-- function of its name: a query over all nodes finds the ids, and then the node of each does the work, in one
-- transaction.

CREATE FUNCTION @extschema@.harel__everywhere_next(
    p_worker text,
    p_visibility double precision,
    p_limit integer,
    p_min_priority integer,
    p_urgent integer,
    p_max_attempts integer,
    p_load boolean,
    p_now double precision
) RETURNS TABLE (
    group_id text, seq bigint, event text, token uuid, deadline double precision, attempts integer,
    definition_id text, data text, version integer, status text, already_processed boolean
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_row record;
    v_tried text[] := '{}';
    v_candidates text[];
    v_given integer := 0;
    v_expected boolean;
BEGIN
    IF p_max_attempts < 1 THEN
        PERFORM @extschema@.harel__refuse_attempts(p_max_attempts);
    END IF;
    deadline := v_now + p_visibility;
    token := gen_random_uuid();
    WHILE v_given < p_limit LOOP
        -- Some more than are wanted, as others look at the same moment. Those of one moment by their numbers, which
        -- begin at the time.
        SELECT array_agg(c.group_id ORDER BY c.is_urgent DESC, c.urgency DESC, c.available_at, c.head)
        INTO v_candidates
        FROM (
            (
                SELECT g.group_id, g.available_at, g.head, g.priority AS urgency, true AS is_urgent
                FROM @extschema@.transport_groups g
                WHERE g.priority > 0
                    AND g.priority >= p_min_priority
                    AND g.available_at <= v_now
                    AND g.group_id <> ALL (v_tried)
                ORDER BY g.priority DESC, g.available_at, g.head
                LIMIT p_urgent
            )
            UNION ALL
            (
                SELECT g.group_id, g.available_at, g.head, 0, false
                FROM @extschema@.transport_groups g
                WHERE g.available_at <= v_now
                    AND g.priority >= p_min_priority
                    AND g.group_id <> ALL (v_tried)
                ORDER BY g.available_at, g.head
                LIMIT p_limit - v_given + 10
            )
        ) c;
        EXIT WHEN v_candidates IS NULL;
        FOREACH group_id IN ARRAY v_candidates LOOP
            EXIT WHEN v_given = p_limit;
            CONTINUE WHEN group_id = ANY (v_tried);
            SELECT * INTO v_row
            FROM @extschema@.harel__claim_group(
                group_id, p_worker, p_visibility, p_min_priority, p_max_attempts, p_load, token, v_now
            );
            CONTINUE WHEN v_row.state = 'exhausted';
            v_tried := v_tried || group_id;
            IF v_row.state = 'unknown' THEN
                SELECT count(*) > 0 INTO v_expected FROM @extschema@.spawns s WHERE s.child_id = group_id;
                PERFORM FROM @extschema@.harel__refuse_group(group_id, v_expected, v_now);
            ELSIF v_row.state = 'given' THEN
                seq := v_row.seq;
                event := v_row.event;
                attempts := v_row.attempts;
                definition_id := v_row.definition_id;
                data := v_row.data;
                version := v_row.version;
                status := v_row.status;
                already_processed := v_row.already_processed;
                v_given := v_given + 1;
                RETURN NEXT;
            END IF;
        END LOOP;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_next(
    text, double precision, integer, integer, integer, integer, boolean, double precision
) IS
'Internal. harel_claim(), or harel_next() where p_load, over all nodes; up to p_urgent of the messages by priority. A '
'group that another has locked is passed over.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_next(
    text, double precision, integer, integer, integer, integer, boolean, double precision
) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_extend(
    p_group_ids text[], p_tokens uuid[], p_visibility double precision, p_now double precision
) RETURNS TABLE (group_id text, deadline double precision)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_token uuid;
BEGIN
    FOR group_id, v_token IN
        SELECT DISTINCT l.group_id, l.token FROM unnest(p_group_ids, p_tokens) AS l (group_id, token)
        WHERE l.group_id IS NOT NULL AND l.token IS NOT NULL
    LOOP
        SELECT x.* INTO deadline FROM @extschema@.harel__extend_group(group_id, v_token, p_visibility, p_now) x;
        IF deadline IS NOT NULL THEN
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_extend(text[], uuid[], double precision, double precision)
IS 'Internal. harel_extend() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_extend(text[], uuid[], double precision, double precision)
FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_finish(
    p_group_ids text[],
    p_tokens uuid[],
    p_defns text[],
    p_datas text[],
    p_olds bigint[],
    p_events text[],
    p_emit_ends integer[],
    p_emit_targets text[],
    p_emit_events text[],
    p_spawn_ends integer[],
    p_spawn_children text[],
    p_spawn_root_paths text[],
    p_spawn_contexts text[],
    p_timer_ends integer[],
    p_timer_actions text[],
    p_timer_paths text[],
    p_timer_fire_ats double precision[],
    p_traces text[],
    p_trace_max integer,
    p_now double precision
) RETURNS TABLE (group_id text, result text, stored_version integer, outbox_seqs bigint[])
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_row record;
    v_results text[];
    v_versions integer[];
    v_seqs bigint[] := '{}';
    v_seq_starts integer[];
    v_seq_ends integer[];
    v_place integer;
    e integer;
    s integer;
    t integer;
BEGIN
    -- By id, as harel_finish() locks them.
    FOR group_id, v_place IN
        SELECT b.id, b.place FROM unnest(p_group_ids) WITH ORDINALITY AS b (id, place)
        ORDER BY b.id COLLATE "C", b.place
    LOOP
        IF group_id IS NULL OR p_tokens[v_place] IS NULL THEN
            PERFORM @extschema@.harel__refuse_lease(group_id);
        END IF;
        -- What nothing can be made of is refused here, and would otherwise stay in spawns.
        FOR c IN coalesce(p_spawn_ends[v_place - 1], 0) + 1 .. coalesce(p_spawn_ends[v_place], 0) LOOP
            PERFORM @extschema@.harel__fields(p_spawn_children[c], p_spawn_contexts[c]);
        END LOOP;
        e := coalesce(p_emit_ends[v_place - 1], 0) + 1;
        s := coalesce(p_spawn_ends[v_place - 1], 0) + 1;
        t := coalesce(p_timer_ends[v_place - 1], 0) + 1;
        SELECT * INTO v_row
        FROM @extschema@.harel__finish_group(
            group_id, p_tokens[v_place], p_defns[v_place], p_datas[v_place], p_olds[v_place], p_events[v_place],
            p_emit_targets[e:p_emit_ends[v_place]], p_emit_events[e:p_emit_ends[v_place]],
            p_spawn_children[s:p_spawn_ends[v_place]], p_spawn_root_paths[s:p_spawn_ends[v_place]],
            p_spawn_contexts[s:p_spawn_ends[v_place]],
            p_timer_actions[t:p_timer_ends[v_place]], p_timer_paths[t:p_timer_ends[v_place]],
            p_timer_fire_ats[t:p_timer_ends[v_place]],
            p_traces[v_place], p_trace_max, p_now
        );
        v_results[v_place] := v_row.result;
        v_versions[v_place] := v_row.stored_version;
        v_seq_starts[v_place] := cardinality(v_seqs) + 1;
        v_seqs := v_seqs || v_row.outbox_seqs;
        v_seq_ends[v_place] := cardinality(v_seqs);
    END LOOP;
    RETURN QUERY
    SELECT b.id, v_results[b.place], v_versions[b.place], v_seqs[v_seq_starts[b.place]:v_seq_ends[b.place]]
    FROM unnest(p_group_ids) WITH ORDINALITY AS b (id, place)
    ORDER BY b.place;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_finish(
    text[], uuid[], text[], text[], bigint[], text[], integer[], text[], text[], integer[], text[], text[], text[],
    integer[], text[], text[], double precision[], text[], integer, double precision
) IS 'Internal. harel_finish() over all nodes; the items of each commit end where the lists of ends say.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_finish(
    text[], uuid[], text[], text[], bigint[], text[], integer[], text[], text[], integer[], text[], text[], text[],
    integer[], text[], text[], double precision[], text[], integer, double precision
) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_publish(
    p_group_ids text[], p_events text[], p_priorities integer[], p_now double precision
) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_group record;
BEGIN
    FOR v_group IN
        SELECT
            m.group_id,
            array_agg(m.event ORDER BY m.place) AS events,
            (array_agg(m.priority ORDER BY m.place))[1] AS priority
        FROM unnest(p_group_ids, p_events, p_priorities) WITH ORDINALITY AS m (group_id, event, priority, place)
        GROUP BY m.group_id
        ORDER BY m.group_id COLLATE "C"
    LOOP
        PERFORM FROM @extschema@.harel__enqueue_group(v_group.group_id, v_group.events, v_group.priority, p_now);
    END LOOP;
    PERFORM @extschema@.harel__wake();
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_publish(text[], text[], integer[], double precision)
IS 'Internal. harel__enqueue() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_publish(text[], text[], integer[], double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_take_outbox(p_limit integer)
RETURNS TABLE (seq bigint, target_id text, event text, source_id text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_left integer := p_limit;
    v_source text;
BEGIN
    FOR v_source IN
        SELECT DISTINCT o.source_id FROM (SELECT o.source_id FROM @extschema@.outbox o ORDER BY o.source_id) o
        ORDER BY o.source_id
    LOOP
        EXIT WHEN v_left <= 0;
        FOR seq, target_id, event IN
            SELECT * FROM @extschema@.harel__take_events(v_source, v_left, false, '{}')
        LOOP
            source_id := nullif(v_source, '');
            v_left := v_left - 1;
            RETURN NEXT;
        END LOOP;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_take_outbox(integer)
IS 'Internal. harel_take_outbox() over all nodes, source by source.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_take_outbox(integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_settle_outbox(p_seqs bigint[]) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_source record;
    v_dropped integer;
    v_count integer := 0;
BEGIN
    FOR v_source IN
        SELECT o.source_id, array_agg(o.seq) AS seqs FROM @extschema@.outbox o
        WHERE o.seq = ANY (p_seqs)
        GROUP BY o.source_id
        ORDER BY o.source_id
    LOOP
        SELECT x.* INTO v_dropped FROM @extschema@.harel__drop_events(v_source.source_id, v_source.seqs) x;
        v_count := v_count + v_dropped;
    END LOOP;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_settle_outbox(bigint[])
IS 'Internal. harel_settle_outbox() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_settle_outbox(bigint[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_ack_spawn(p_seq bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_parent text;
    v_count integer := 0;
BEGIN
    SELECT s.parent_id INTO v_parent FROM @extschema@.spawns s WHERE s.seq = p_seq;
    IF FOUND THEN
        SELECT x.* INTO v_count FROM @extschema@.harel__drop_spawns(v_parent, ARRAY[p_seq]) x;
    END IF;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_ack_spawn(bigint)
IS 'Internal. harel_ack_spawn() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_ack_spawn(bigint) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_relay(p_limit integer, p_now double precision) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_source text;
    v_sources text[];
    v_tried text[] := '{}';
    v_event record;
    v_source_ids text[] := '{}';
    v_seqs bigint[] := '{}';
    v_dropped bigint[];
    v_targets text[] := '{}';
    v_events text[] := '{}';
    v_target record;
    v_received boolean;
    v_busy text[] := '{}';
    v_moved integer := 0;
BEGIN
    LOOP
        -- A source that a look found nothing to move of must not hide those behind it, nor a target that is busy what
        -- its sources have for others.
        SELECT array_agg(DISTINCT o.source_id) INTO v_sources
        FROM (
            SELECT o.source_id
            FROM @extschema@.outbox o
            WHERE o.target_id IS NOT NULL
                AND o.source_id <> ALL (v_tried)
                AND o.target_id <> ALL (v_busy)
            LIMIT p_limit
        ) o;
        EXIT WHEN v_sources IS NULL;
        FOREACH v_source IN ARRAY v_sources LOOP
            FOR v_event IN
                SELECT * FROM @extschema@.harel__take_events(v_source, p_limit - cardinality(v_seqs), true, v_busy)
            LOOP
                v_source_ids := v_source_ids || v_source;
                v_seqs := v_seqs || v_event.seq;
                v_targets := v_targets || v_event.target_id;
                v_events := v_events || v_event.event;
            END LOOP;
            IF NOT FOUND THEN
                v_tried := v_tried || v_source;
            END IF;
            EXIT WHEN cardinality(v_seqs) >= p_limit;
        END LOOP;
        -- In the order of the ids, as all lock groups that lock several.
        FOR v_target IN
            SELECT o.target_id, array_agg(o.event ORDER BY o.place) AS events
            FROM unnest(v_targets, v_events) WITH ORDINALITY AS o (target_id, event, place)
            GROUP BY o.target_id
            ORDER BY o.target_id COLLATE "C"
        LOOP
            SELECT x.* INTO v_received
            FROM @extschema@.harel__receive_events(v_target.target_id, v_target.events, p_now) x;
            IF NOT v_received THEN
                v_busy := v_busy || v_target.target_id;
            END IF;
        END LOOP;
        FOR v_source, v_dropped IN
            SELECT o.source_id, array_agg(o.seq)
            FROM unnest(v_source_ids, v_seqs, v_targets) AS o (source_id, seq, target_id)
            WHERE o.target_id <> ALL (v_busy)
            GROUP BY o.source_id
            ORDER BY o.source_id COLLATE "C"
        LOOP
            PERFORM FROM @extschema@.harel__drop_events(v_source, v_dropped);
            v_moved := v_moved + cardinality(v_dropped);
        END LOOP;
        EXIT WHEN v_moved > 0;
        v_source_ids := '{}';
        v_seqs := '{}';
        v_targets := '{}';
        v_events := '{}';
    END LOOP;
    IF v_moved > 0 THEN
        PERFORM @extschema@.harel__wake();
    END IF;
    RETURN v_moved;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_relay(integer, double precision)
IS
'Internal. harel_relay() over all nodes: of each source only one relay at a time moves events. An event leaves the '
'outbox of the one node and comes into the queue of the other in one transaction.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_relay(integer, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_relay_spawns(p_limit integer, p_now double precision) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_parent text;
    v_parents text[];
    v_tried text[] := '{}';
    v_parent_ids text[] := '{}';
    v_seqs bigint[] := '{}';
    v_dropped bigint[];
    v_children jsonb[] := '{}';
    v_spawn record;
    v_child record;
BEGIN
    LOOP
        SELECT array_agg(DISTINCT s.parent_id) INTO v_parents
        FROM (
            SELECT s.parent_id FROM @extschema@.spawns s
            WHERE s.parent_id <> ALL (v_tried)
            LIMIT p_limit
        ) s;
        EXIT WHEN v_parents IS NULL;
        FOREACH v_parent IN ARRAY v_parents LOOP
            FOR v_spawn IN
                SELECT * FROM @extschema@.harel__take_spawns(v_parent, p_limit - cardinality(v_seqs))
            LOOP
                v_parent_ids := v_parent_ids || v_parent;
                v_seqs := v_seqs || v_spawn.seq;
                v_children := v_children || to_jsonb(v_spawn);
            END LOOP;
            v_tried := v_tried || v_parent;
            EXIT WHEN cardinality(v_seqs) >= p_limit;
        END LOOP;
        EXIT WHEN v_seqs <> '{}';
    END LOOP;
    FOR v_child IN
        SELECT
            c.child ->> 'child_id' AS id, p.id AS parent_id, c.child ->> 'definition_id' AS definition_id,
            (c.child ->> 'priority')::integer AS priority, c.child ->> 'root_path' AS root_path,
            c.child ->> 'context' AS context, c.child ->> 'status' = 'SUSPENDED' AS is_suspended
        FROM unnest(v_parent_ids, v_children) WITH ORDINALITY AS p (id, child, place)
        CROSS JOIN LATERAL (SELECT p.child) c
        ORDER BY c.child ->> 'child_id' COLLATE "C", p.place
    LOOP
        PERFORM FROM @extschema@.harel__receive_child(
            v_child.id, v_child.parent_id, v_child.definition_id, v_child.priority, v_child.root_path, v_child.context,
            v_child.is_suspended, p_now
        );
    END LOOP;
    FOR v_parent, v_dropped IN
        SELECT p.id, array_agg(p.seq) FROM unnest(v_parent_ids, v_seqs) AS p (id, seq)
        GROUP BY p.id
        ORDER BY p.id COLLATE "C"
    LOOP
        PERFORM FROM @extschema@.harel__drop_spawns(v_parent, v_dropped);
    END LOOP;
    IF v_seqs <> '{}' THEN
        PERFORM @extschema@.harel__wake();
    END IF;
    RETURN cardinality(v_seqs);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_relay_spawns(integer, double precision)
IS 'Internal. harel_relay_spawns() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_relay_spawns(integer, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_fire_timers(p_now double precision, p_limit integer) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_id text;
    v_count integer;
    v_fired integer := 0;
BEGIN
    FOR v_id IN
        SELECT d.execution_id
        FROM (
            SELECT t.execution_id FROM @extschema@.timers t
            WHERE t.fire_at <= p_now
            ORDER BY t.fire_at, t.execution_id, t.path
            LIMIT p_limit
        ) d
        GROUP BY d.execution_id
        ORDER BY d.execution_id
    LOOP
        EXIT WHEN v_fired >= p_limit;
        SELECT x.* INTO v_count FROM @extschema@.harel__fire_timers_of(v_id, p_now, p_limit - v_fired) x;
        v_fired := v_fired + v_count;
    END LOOP;
    IF v_fired > 0 THEN
        PERFORM @extschema@.harel__wake();
    END IF;
    RETURN v_fired;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_fire_timers(double precision, integer)
IS 'Internal. harel_fire_timers() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_fire_timers(double precision, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_next_at(p_now double precision) RETURNS double precision
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_fire_at double precision;
    v_available_at double precision;
BEGIN
    SELECT t.fire_at INTO v_fire_at FROM @extschema@.timers t ORDER BY t.fire_at, t.execution_id, t.path LIMIT 1;
    SELECT g.available_at INTO v_available_at
    FROM @extschema@.transport_groups g
    WHERE g.available_at > p_now AND g.available_at < 'Infinity'
    ORDER BY g.available_at
    LIMIT 1;
    RETURN least(v_fire_at, v_available_at);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_next_at(double precision)
IS 'Internal. When the next timer, parked message or lease is due, over all nodes, for harel_tick().';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_next_at(double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_descent(p_ids text[]) RETURNS text[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_tree text[] := ARRAY(SELECT DISTINCT r.id FROM unnest(p_ids) AS r (id));
    v_new text[];
BEGIN
    LOOP
        SELECT array_agg(e.id) INTO v_new
        FROM @extschema@.executions e
        WHERE e.parent_id = ANY (v_tree) AND octet_length(e.parent_id) <= 1000 AND e.id <> ALL (v_tree);
        EXIT WHEN v_new IS NULL;
        v_tree := v_tree || v_new;
    END LOOP;
    RETURN v_tree;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_descent(text[])
IS 'Internal. harel__descent() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_descent(text[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_control(p_ids text[], p_to text, p_strict boolean) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(NULL);
    v_tree text[] := ARRAY(SELECT DISTINCT r.id FROM unnest(p_ids) AS r (id));
    v_locked text[] := '{}';
    v_id text;
    v_changed boolean;
    v_any boolean := false;
BEGIN
    -- As harel__control() does: the tree is whole once all in it are locked.
    LOOP
        FOR v_id IN SELECT t.id FROM unnest(v_tree) AS t (id) WHERE t.id <> ALL (v_locked) ORDER BY t.id COLLATE "C" LOOP
            PERFORM FROM @extschema@.harel__lock_execution(v_id);
        END LOOP;
        v_locked := v_tree;
        SELECT v_tree || coalesce(array_agg(e.id), '{}') INTO v_tree
        FROM @extschema@.executions e
        WHERE e.parent_id = ANY (v_locked) AND octet_length(e.parent_id) <= 1000 AND e.id <> ALL (v_locked);
        EXIT WHEN cardinality(v_tree) = cardinality(v_locked);
    END LOOP;
    FOR v_id IN SELECT t.id FROM unnest(v_tree) AS t (id) ORDER BY t.id COLLATE "C" LOOP
        SELECT x.* INTO v_changed FROM @extschema@.harel__control_execution(v_id, p_to, p_strict, v_now) x;
        v_any := v_any OR v_changed;
    END LOOP;
    IF v_any THEN
        PERFORM @extschema@.harel__wake();
    END IF;
    RETURN v_any;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_control(text[], text, boolean)
IS 'Internal. harel__control() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_control(text[], text, boolean) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_purge(p_id text, p_expected_version bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_version integer;
BEGIN
    SELECT x.* INTO v_version FROM @extschema@.harel__lock_execution(p_id) x;
    IF v_version <> p_expected_version THEN
        RETURN false;
    END IF;
    DELETE FROM @extschema@.outbox o WHERE o.target_id = p_id;
    PERFORM FROM @extschema@.harel__purge_execution(p_id);
    RETURN v_version IS NOT NULL;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_purge(text, bigint)
IS 'Internal. harel_purge() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_purge(text, bigint) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_purge_finished(
    p_before timestamptz, p_limit integer, p_archive regproc
) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_exe record;
    v_version integer;
    v_expected text[];
    v_purged integer := 0;
BEGIN
    FOR v_exe IN
        SELECT e.id, e.data, e.version
        FROM @extschema@.executions e
        WHERE e.finished_at IS NOT NULL
            AND e.finished_at < p_before
            AND NOT EXISTS (SELECT FROM @extschema@.transport_groups g WHERE g.group_id = e.id)
            AND NOT EXISTS (SELECT FROM @extschema@.spawns s WHERE s.parent_id = e.id)
        ORDER BY e.finished_at
        LIMIT p_limit
    LOOP
        -- One that another works on, or that has changed, is left for another call.
        SELECT x.* INTO v_version FROM @extschema@.harel__lock_finished(v_exe.id, p_before) x;
        CONTINUE WHEN v_version IS DISTINCT FROM v_exe.version;
        SELECT array_agg(o.source_id) INTO v_expected FROM @extschema@.outbox o WHERE o.target_id = v_exe.id;
        CONTINUE WHEN v_expected IS NOT NULL;
        IF p_archive IS NOT NULL THEN
            EXECUTE format('SELECT %s($1, $2)', p_archive) USING v_exe.id, v_exe.data;
        END IF;
        PERFORM FROM @extschema@.harel__purge_execution(v_exe.id);
        v_purged := v_purged + 1;
    END LOOP;
    RETURN v_purged;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_purge_finished(timestamptz, integer, regproc)
IS 'Internal. harel_purge_finished() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_purge_finished(timestamptz, integer, regproc) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_purge_processed(p_before timestamptz, p_limit integer) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_row record;
    v_forgotten integer;
    v_count integer := 0;
BEGIN
    FOR v_row IN
        SELECT p.execution_id, array_agg(p.event_id) AS event_ids
        FROM (
            SELECT p.execution_id, p.event_id
            FROM @extschema@.processed_events p
            WHERE p.processed_at < p_before
            ORDER BY p.processed_at
            LIMIT p_limit
        ) p
        GROUP BY p.execution_id
        ORDER BY p.execution_id
    LOOP
        SELECT x.* INTO v_forgotten FROM @extschema@.harel__forget_events(v_row.execution_id, v_row.event_ids) x;
        v_count := v_count + v_forgotten;
    END LOOP;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_purge_processed(timestamptz, integer)
IS 'Internal. harel_purge_processed() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_purge_processed(timestamptz, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_redrive(
    p_group_id text, p_id uuid, p_limit integer, p_now double precision
) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_group record;
    v_driven integer;
    v_count integer := 0;
BEGIN
    FOR v_group IN
        SELECT l.group_id, array_agg(l.id) AS ids
        FROM (
            SELECT l.group_id, l.id
            FROM @extschema@.dead_letters l
            WHERE (p_group_id IS NULL OR l.group_id = p_group_id) AND (p_id IS NULL OR l.id = p_id)
            ORDER BY l.dead_at, l.seq
            LIMIT p_limit
        ) l
        GROUP BY l.group_id
        ORDER BY l.group_id
    LOOP
        SELECT x.* INTO v_driven FROM @extschema@.harel__redrive_group(v_group.group_id, v_group.ids, p_now) x;
        v_count := v_count + v_driven;
    END LOOP;
    IF v_count > 0 THEN
        PERFORM @extschema@.harel__wake();
    END IF;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_redrive(text, uuid, integer, double precision)
IS 'Internal. harel_redrive() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_redrive(text, uuid, integer, double precision) FROM PUBLIC;
