CREATE FUNCTION @extschema@.harel_purge(p_id text, p_expected_version bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
DECLARE
    v_version integer;
BEGIN
    IF p_id IS NULL THEN
        PERFORM @extschema@.harel__refuse_key(p_id, 'execution id', p_id);
    END IF;
    IF p_expected_version IS NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST002',
            MESSAGE = 'a purge must name the version that it expects',
            DETAIL = format('Execution %L: the version is NULL.', left(p_id, 40)),
            HINT = 'Pass the version that was loaded: an execution that has moved on since is not purged.';
    END IF;
    SELECT e.version INTO v_version FROM @extschema@.executions e WHERE e.id = p_id FOR UPDATE;
    IF v_version <> p_expected_version THEN
        RETURN false;
    END IF;
    DELETE FROM @extschema@.executions e WHERE e.id = p_id;
    PERFORM FROM @extschema@.transport_groups g WHERE g.group_id = p_id FOR UPDATE;
    DELETE FROM @extschema@.transport_messages m WHERE m.group_id = p_id;
    DELETE FROM @extschema@.transport_groups g WHERE g.group_id = p_id;
    DELETE FROM @extschema@.dead_letters d WHERE d.group_id = p_id;
    DELETE FROM @extschema@.timers t WHERE t.execution_id = p_id;
    DELETE FROM @extschema@.trace t WHERE t.execution_id = p_id;
    DELETE FROM @extschema@.processed_events p WHERE p.execution_id = p_id;
    DELETE FROM @extschema@.spawns s WHERE s.parent_id = p_id;
    -- What it has emitted for others is theirs.
    DELETE FROM @extschema@.outbox o WHERE o.target_id = p_id;
    RETURN v_version IS NOT NULL;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_purge(text, bigint)
IS
'Removes an execution and everything of it: its messages, dead letters, timers, trace, ledger, pending spawns and the '
'events that wait for it; unless its version is no longer p_expected_version. What it emitted for others stays. Where '
'there is no such execution, what is left of it is removed all the same. Returns whether an execution was removed. '
'Raises ST001 or ST002 for NULL.';
REVOKE ALL ON FUNCTION @extschema@.harel_purge(text, bigint) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_ids_with_prefix(p_prefix text, p_limit integer DEFAULT NULL) RETURNS SETOF text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    v_id text;
    v_left integer := p_limit;
BEGIN
    IF p_prefix IS NULL THEN
        PERFORM @extschema@.harel__refuse_key(NULL, 'prefix', p_prefix);
    END IF;
    PERFORM @extschema@.harel__check_limit(p_limit);
    -- The ids with a prefix stand together; the first without it ends the walk.
    FOR v_id IN SELECT e.id FROM @extschema@.executions e WHERE e.id >= p_prefix ORDER BY e.id LOOP
        EXIT WHEN v_left <= 0 OR NOT pg_catalog.starts_with(v_id, p_prefix);
        v_left := v_left - 1;
        RETURN NEXT v_id;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_ids_with_prefix(text, integer)
IS
'The ids of the executions that begin with these very characters, in the order of their bytes, at most p_limit (NULL: '
'all). Raises ST001 for NULL, and ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_ids_with_prefix(text, integer) FROM PUBLIC;
