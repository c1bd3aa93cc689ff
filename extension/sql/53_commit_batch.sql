-- Where in a flat list the items of each commit end, from the position of the commit that each item belongs to.
CREATE FUNCTION @extschema@.harel__ends(p_list text, p_commits integer[], p_count integer) RETURNS integer[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_ends integer[] := array_fill(0, ARRAY[p_count]);
    v_previous integer := 1;
    v_commit integer;
BEGIN
    FOR i IN 1 .. coalesce(cardinality(p_commits), 0) LOOP
        v_commit := p_commits[i];
        IF (v_commit BETWEEN v_previous AND p_count) IS NOT TRUE THEN
            RAISE EXCEPTION USING
                ERRCODE = 'ST004',
                MESSAGE = format('the commits of %s must be positions in the batch in ascending order', p_list),
                DETAIL = format('Item %s belongs to commit %s, of %s.', i, coalesce(v_commit::text, 'NULL'), p_count),
                HINT = 'Count the commits from 1 and list the items of the first one first.';
        END IF;
        v_ends[v_commit] := i;
        v_previous := v_commit;
    END LOOP;
    FOR i IN 2 .. p_count LOOP
        v_ends[i] := greatest(v_ends[i], v_ends[i - 1]);
    END LOOP;
    RETURN v_ends;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__ends(text, integer[], integer)
IS 'Internal. For each commit of a batch, the position of its last item in a flat list; raises ST004.';
REVOKE ALL ON FUNCTION @extschema@.harel__ends(text, integer[], integer) FROM PUBLIC;

-- A slice of an array copies all of the array first: done for each commit of a long batch, that takes longest of all.
CREATE FUNCTION @extschema@.harel__part(p_list anyarray, p_first integer, p_last integer) RETURNS anyarray
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_part p_list%TYPE := '{}';
BEGIN
    FOR i IN p_first .. p_last LOOP
        v_part := v_part || p_list[i];
    END LOOP;
    RETURN v_part;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__part(anyarray, integer, integer)
IS 'Internal. The elements of a list from one position to another.';
REVOKE ALL ON FUNCTION @extschema@.harel__part(anyarray, integer, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_commit_batch(
    p_ids text[],
    p_defns text[],
    p_datas text[],
    p_olds bigint[],
    p_events text[] DEFAULT NULL,
    p_emit_commits integer[] DEFAULT NULL,
    p_emit_targets text[] DEFAULT NULL,
    p_emit_events text[] DEFAULT NULL,
    p_spawn_commits integer[] DEFAULT NULL,
    p_spawn_children text[] DEFAULT NULL,
    p_spawn_root_paths text[] DEFAULT NULL,
    p_spawn_contexts text[] DEFAULT NULL,
    p_timer_commits integer[] DEFAULT NULL,
    p_timer_actions text[] DEFAULT NULL,
    p_timer_paths text[] DEFAULT NULL,
    p_timer_fire_ats double precision[] DEFAULT NULL,
    p_traces text[] DEFAULT NULL,
    p_trace_max integer DEFAULT NULL
) RETURNS TABLE (id text, committed boolean, stored_version integer, outbox_seqs bigint[])
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_count integer := coalesce(cardinality(p_ids), 0);
    v_emit_ends integer[];
    v_spawn_ends integer[];
    v_timer_ends integer[];
    v_committed boolean[];
    v_versions integer[];
    v_seqs bigint[] := '{}';
    v_seq_starts integer[];
    v_seq_ends integer[];
    v_result record;
    i integer;
    e integer;
    s integer;
    t integer;
BEGIN
    -- Events and traces may be left out as a whole.
    PERFORM @extschema@.harel__check_list(
        NULL, 'the commits',
        array_dims(p_ids), array_dims(p_defns), array_dims(p_datas), array_dims(p_olds),
        coalesce(array_dims(p_events), array_dims(p_ids)), coalesce(array_dims(p_traces), array_dims(p_ids))
    );
    PERFORM @extschema@.harel__check_list(
        NULL, 'emits', array_dims(p_emit_commits), array_dims(p_emit_targets), array_dims(p_emit_events)
    );
    PERFORM @extschema@.harel__check_list(
        NULL, 'spawns',
        array_dims(p_spawn_commits), array_dims(p_spawn_children), array_dims(p_spawn_root_paths),
        array_dims(p_spawn_contexts)
    );
    PERFORM @extschema@.harel__check_list(
        NULL, 'timers',
        array_dims(p_timer_commits), array_dims(p_timer_actions), array_dims(p_timer_paths),
        array_dims(p_timer_fire_ats)
    );
    v_emit_ends := @extschema@.harel__ends('emits', p_emit_commits, v_count);
    v_spawn_ends := @extschema@.harel__ends('spawns', p_spawn_commits, v_count);
    v_timer_ends := @extschema@.harel__ends('timers', p_timer_commits, v_count);

    -- Each commit locks its row, or the place of one to come, until the end of the transaction. Taken in the order of
    -- the ids, the locks of two batches cannot wait for each other in a circle.
    FOR i IN
        SELECT b.place FROM unnest(p_ids) WITH ORDINALITY AS b (id, place)
        ORDER BY b.id COLLATE "C", b.place
    LOOP
        -- Subscripts before the first commit give NULL: its items start at 1.
        e := coalesce(v_emit_ends[i - 1], 0) + 1;
        s := coalesce(v_spawn_ends[i - 1], 0) + 1;
        t := coalesce(v_timer_ends[i - 1], 0) + 1;
        v_result := @extschema@.harel_commit(
            p_ids[i], p_defns[i], p_datas[i], p_olds[i], p_events[i],
            CASE WHEN e <= v_emit_ends[i] THEN @extschema@.harel__part(p_emit_targets, e, v_emit_ends[i]) END,
            CASE WHEN e <= v_emit_ends[i] THEN @extschema@.harel__part(p_emit_events, e, v_emit_ends[i]) END,
            CASE WHEN s <= v_spawn_ends[i] THEN @extschema@.harel__part(p_spawn_children, s, v_spawn_ends[i]) END,
            CASE WHEN s <= v_spawn_ends[i] THEN @extschema@.harel__part(p_spawn_root_paths, s, v_spawn_ends[i]) END,
            CASE WHEN s <= v_spawn_ends[i] THEN @extschema@.harel__part(p_spawn_contexts, s, v_spawn_ends[i]) END,
            CASE WHEN t <= v_timer_ends[i] THEN @extschema@.harel__part(p_timer_actions, t, v_timer_ends[i]) END,
            CASE WHEN t <= v_timer_ends[i] THEN @extschema@.harel__part(p_timer_paths, t, v_timer_ends[i]) END,
            CASE WHEN t <= v_timer_ends[i] THEN @extschema@.harel__part(p_timer_fire_ats, t, v_timer_ends[i]) END,
            p_traces[i],
            p_trace_max
        );
        v_committed[i] := v_result.committed;
        v_versions[i] := v_result.stored_version;
        v_seq_starts[i] := cardinality(v_seqs) + 1;
        v_seqs := v_seqs || v_result.outbox_seqs;
        v_seq_ends[i] := cardinality(v_seqs);
    END LOOP;

    RETURN QUERY
    SELECT
        b.id, v_committed[b.place], v_versions[b.place],
        @extschema@.harel__part(v_seqs, v_seq_starts[b.place], v_seq_ends[b.place])
    FROM unnest(p_ids) WITH ORDINALITY AS b (id, place)
    ORDER BY b.place;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_commit_batch(
    text[], text[], text[], bigint[], text[], integer[], text[], text[], integer[], text[], text[], text[],
    integer[], text[], text[], double precision[], text[], integer
) IS
'Many commits in one call and one transaction, each as by harel_commit() and each winning or losing by itself; '
'one row for each, in the order given. The items of all commits stand in flat lists, beside the position (from 1, '
'ascending) of the commit that each belongs to. Rows are locked in the order of the ids, so that batches cannot '
'deadlock; commits of one execution are applied in the order given. Raises ST001 to ST006, and then none is '
'committed.';
REVOKE ALL ON FUNCTION @extschema@.harel_commit_batch(
    text[], text[], text[], bigint[], text[], integer[], text[], text[], integer[], text[], text[], text[],
    integer[], text[], text[], double precision[], text[], integer
) FROM PUBLIC;
