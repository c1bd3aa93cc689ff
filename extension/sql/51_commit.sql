-- The lists of a commit are parallel arrays, which every driver can send. NULL and an empty array are both an empty
-- list, and array_dims() is NULL for both.
CREATE FUNCTION @extschema@.harel__check_list(p_id text, p_list text, VARIADIC p_dimensions text[]) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
BEGIN
    IF array_remove(p_dimensions, p_dimensions[1]) <> '{}' OR p_dimensions[1] !~ '^\[1:\d+\]$' THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST004',
            MESSAGE = format('the arrays for %s must be parallel', p_list),
            DETAIL = format(
                '%s: their bounds are %s.',
                coalesce('Execution ' || quote_literal(left(p_id, 40)), 'A batch'),
                array_to_string(p_dimensions, ', ', 'empty')
            ),
            HINT = 'Pass one-dimensional arrays of one length, counted from 1.';
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__check_list(text, text, text[])
IS 'Internal. Raises ST004 unless the arrays that make up a list have the same bounds, from 1.';
REVOKE ALL ON FUNCTION @extschema@.harel__check_list(text, text, text[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__refuse_item(p_id text, p_list text, p_place integer) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = 'ST004',
        MESSAGE = format('the arrays for %s must not hold NULL', p_list),
        DETAIL = format('Execution %L: item %s is NULL.', left(p_id, 40), p_place),
        HINT = 'Only the target of an event may be NULL, for a broadcast.';
END
$$;
COMMENT ON FUNCTION @extschema@.harel__refuse_item(text, text, integer)
IS 'Internal. Raises ST004 for a NULL in a list.';
REVOKE ALL ON FUNCTION @extschema@.harel__refuse_item(text, text, integer) FROM PUBLIC;

-- Pinned by its callers, like harel__swap().
CREATE FUNCTION @extschema@.harel__commit(
    p_id text,
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
    p_commit_id uuid DEFAULT NULL
) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
DECLARE
    v_first bigint := 0;
    v_seq bigint;
    v_seqs bigint[] := '{}';
    v_idx integer;
    v_is_shard boolean := false;
    v_shards text[];
BEGIN
    IF NOT @extschema@.harel__swap(p_id, p_defn, p_data, p_old, p_event, p_commit_id) THEN
        RETURN NULL;
    END IF;
    -- Not by the defaults of the columns: those of a node are as the extension has made them there. Where there is no
    -- Citus, the function that knows need not be asked.
    IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL
        AND (p_emit_events IS NOT NULL OR p_spawn_children IS NOT NULL)
        AND @extschema@.harel__is_distributed()
    THEN
        v_first := @extschema@.harel__first_seq();
    END IF;

    -- See harel__swap().
    IF p_emit_targets IS NOT NULL OR p_spawn_children IS NOT NULL THEN
        v_is_shard := pg_sequence_last_value('@extschema@.shards_joined') IS NOT NULL;
    END IF;

    -- For the handful of rows of one commit, a loop over plain INSERTs is faster than one INSERT from unnest(). The
    -- shape of each list is tested here and again by harel__check_list() before it raises: to call that for every list
    -- of every commit would cost as much as an INSERT.
    IF p_emit_events IS NOT NULL OR p_emit_targets IS NOT NULL THEN
        IF array_dims(p_emit_targets) IS DISTINCT FROM array_dims(p_emit_events)
            OR array_ndims(p_emit_events) <> 1
            OR array_lower(p_emit_events, 1) <> 1
        THEN
            PERFORM @extschema@.harel__check_list(p_id, 'emits', array_dims(p_emit_targets), array_dims(p_emit_events));
        END IF;
        IF v_is_shard THEN
            v_shards := @extschema@.harel__elsewhere(p_emit_targets);
        END IF;
        FOR i IN 1 .. coalesce(cardinality(p_emit_events), 0) LOOP
            IF p_emit_events[i] IS NULL THEN
                PERFORM @extschema@.harel__refuse_item(p_id, 'emits', i);
            ELSIF octet_length(p_emit_targets[i]) NOT BETWEEN 1 AND 1000 THEN
                PERFORM @extschema@.harel__refuse_key(p_id, 'target id', p_emit_targets[i]);
            END IF;
            v_seq := v_first + nextval('@extschema@.outbox_seq_seq');
            INSERT INTO @extschema@.outbox (seq, target_id, event, source_id, version, ord, shard)
            VALUES (v_seq, p_emit_targets[i], p_emit_events[i], p_id, p_old + 1, i, v_shards[i]);
            v_seqs[i] := v_seq;
        END LOOP;
    END IF;

    IF p_spawn_children IS NOT NULL OR p_spawn_root_paths IS NOT NULL OR p_spawn_contexts IS NOT NULL THEN
        IF array_dims(p_spawn_children) IS DISTINCT FROM array_dims(p_spawn_root_paths)
            OR array_dims(p_spawn_children) IS DISTINCT FROM array_dims(p_spawn_contexts)
            OR array_ndims(p_spawn_children) <> 1
            OR array_lower(p_spawn_children, 1) <> 1
        THEN
            PERFORM @extschema@.harel__check_list(
                p_id, 'spawns', array_dims(p_spawn_children), array_dims(p_spawn_root_paths),
                array_dims(p_spawn_contexts)
            );
        END IF;
        IF v_is_shard THEN
            v_shards := @extschema@.harel__elsewhere(p_spawn_children);
        END IF;
        FOR i IN 1 .. coalesce(cardinality(p_spawn_children), 0) LOOP
            IF p_spawn_root_paths[i] IS NULL OR p_spawn_contexts[i] IS NULL THEN
                PERFORM @extschema@.harel__refuse_item(p_id, 'spawns', i);
            ELSIF (octet_length(p_spawn_children[i]) BETWEEN 1 AND 1000) IS NOT TRUE THEN
                PERFORM @extschema@.harel__refuse_key(p_id, 'child id', p_spawn_children[i]);
            END IF;
            v_seq := v_first + nextval('@extschema@.spawns_seq_seq');
            INSERT INTO @extschema@.spawns (seq, parent_id, child_id, root_path, context, version, ord, shard)
            VALUES (
                v_seq, p_id, p_spawn_children[i], p_spawn_root_paths[i], p_spawn_contexts[i], p_old + 1, i, v_shards[i]
            );
        END LOOP;
    END IF;

    IF p_timer_actions IS NOT NULL OR p_timer_paths IS NOT NULL OR p_timer_fire_ats IS NOT NULL THEN
        IF array_dims(p_timer_actions) IS DISTINCT FROM array_dims(p_timer_paths)
            OR array_dims(p_timer_actions) IS DISTINCT FROM array_dims(p_timer_fire_ats)
            OR array_ndims(p_timer_actions) <> 1
            OR array_lower(p_timer_actions, 1) <> 1
        THEN
            PERFORM @extschema@.harel__check_list(
                p_id, 'timers', array_dims(p_timer_actions), array_dims(p_timer_paths), array_dims(p_timer_fire_ats)
            );
        END IF;
        FOR i IN 1 .. coalesce(cardinality(p_timer_actions), 0) LOOP
            IF p_timer_paths[i] IS NULL THEN
                PERFORM @extschema@.harel__refuse_item(p_id, 'timers', i);
            ELSIF octet_length(p_timer_paths[i]) > 1000 THEN
                PERFORM @extschema@.harel__refuse_key(p_id, 'timer path', p_timer_paths[i]);
            END IF;
            IF p_timer_actions[i] = 'schedule' THEN
                IF (abs(p_timer_fire_ats[i]) < 'Infinity') IS NOT TRUE THEN
                    PERFORM @extschema@.harel__refuse_time(
                        format('Execution %L, timer %L', p_id, p_timer_paths[i]), p_timer_fire_ats[i]
                    );
                END IF;
                INSERT INTO @extschema@.timers AS t (execution_id, path, fire_at)
                VALUES (p_id, p_timer_paths[i], p_timer_fire_ats[i])
                ON CONFLICT (execution_id, path) DO UPDATE SET fire_at = excluded.fire_at;
            ELSIF p_timer_actions[i] = 'cancel' THEN
                DELETE FROM @extschema@.timers t WHERE t.execution_id = p_id AND t.path = p_timer_paths[i];
            ELSE
                RAISE EXCEPTION USING
                    ERRCODE = 'ST005',
                    MESSAGE = 'unknown timer action',
                    DETAIL = format(
                        'Execution %L, timer %L: the action is %s.',
                        p_id, p_timer_paths[i], coalesce(quote_literal(left(p_timer_actions[i], 40)), 'NULL')
                    ),
                    HINT = 'Pass schedule or cancel.';
            END IF;
        END LOOP;
    END IF;

    IF p_trace IS NOT NULL THEN
        IF p_old = 0 THEN
            PERFORM @extschema@.harel__lock_new_trace(p_id);
        END IF;
        -- An assignment, unlike PERFORM, needs no query.
        v_idx := @extschema@.harel__push_trace(p_id, p_trace, p_trace_max);
    END IF;
    RETURN v_seqs;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__commit(
    text, text, text, bigint, text, text[], text[], text[], text[],
    text[], text[], text[], double precision[], text, integer, uuid
) IS
'Internal. The outbox seqs of a commit, or NULL where it lost; harel_commit() without its answer to a serialization '
'failure.';
REVOKE ALL ON FUNCTION @extschema@.harel__commit(
    text, text, text, bigint, text, text[], text[], text[], text[],
    text[], text[], text[], double precision[], text, integer, uuid
) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_commit(
    p_id text,
    p_defn text,
    p_data text,
    p_old bigint,
    p_event text DEFAULT NULL,
    p_emit_targets text[] DEFAULT NULL,
    p_emit_events text[] DEFAULT NULL,
    p_spawn_children text[] DEFAULT NULL,
    p_spawn_root_paths text[] DEFAULT NULL,
    p_spawn_contexts text[] DEFAULT NULL,
    p_timer_actions text[] DEFAULT NULL,
    p_timer_paths text[] DEFAULT NULL,
    p_timer_fire_ats double precision[] DEFAULT NULL,
    p_trace text DEFAULT NULL,
    p_trace_max integer DEFAULT NULL,
    p_commit_id uuid DEFAULT NULL,
    OUT committed boolean,
    OUT stored_version integer,
    OUT outbox_seqs bigint[]
) RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
BEGIN
    -- See harel_commit_cas() for the two ways.
    IF current_setting('transaction_isolation') = 'read committed' THEN
        outbox_seqs := @extschema@.harel__commit(
            p_id, p_defn, p_data, p_old, p_event, p_emit_targets, p_emit_events,
            p_spawn_children, p_spawn_root_paths, p_spawn_contexts,
            p_timer_actions, p_timer_paths, p_timer_fire_ats, p_trace, p_trace_max, p_commit_id
        );
    ELSE
        BEGIN
            outbox_seqs := @extschema@.harel__commit(
                p_id, p_defn, p_data, p_old, p_event, p_emit_targets, p_emit_events,
                p_spawn_children, p_spawn_root_paths, p_spawn_contexts,
                p_timer_actions, p_timer_paths, p_timer_fire_ats, p_trace, p_trace_max, p_commit_id
            );
        EXCEPTION WHEN serialization_failure THEN
            outbox_seqs := NULL;
        END;
    END IF;
    committed := outbox_seqs IS NOT NULL;
    IF committed THEN
        stored_version := p_old + 1;
    ELSE
        -- The snapshot of a stricter level still shows the version that was expected: then the one found is not known.
        stored_version := (SELECT nullif(e.version, p_old) FROM @extschema@.executions e WHERE e.id = p_id);
        outbox_seqs := '{}';
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_commit(
    text, text, text, bigint, text, text[], text[], text[], text[],
    text[], text[], text[], double precision[], text, integer, uuid
) IS
'harel_commit_cas() and, if it commits, what the step caused: events to the outbox in the order given (a NULL '
'target is a broadcast), spawns, timer operations in order (schedule replaces the time of its path, cancel '
'disarms it; seconds since the epoch) and a trace entry, of which the last p_trace_max are kept (0 or NULL: all). '
'Returns whether it committed, the version now stored (on a conflict the one found: NULL where there is no such '
'execution, or where the snapshot of a stricter isolation level hides it) and the seqs of the outbox rows in the '
'order given. By p_commit_id, a random one for each commit, harel_outcome() knows it again. Raises ST001 to ST006.';
REVOKE ALL ON FUNCTION @extschema@.harel_commit(
    text, text, text, bigint, text, text[], text[], text[], text[],
    text[], text[], text[], double precision[], text, integer, uuid
) FROM PUBLIC;
