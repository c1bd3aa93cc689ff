CREATE FUNCTION @extschema@.harel_purge(p_id text, p_expected_version bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
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
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_purge(p_id, p_expected_version);
    END IF;
    LOOP
        SELECT e.version INTO v_version FROM @extschema@.executions e WHERE e.id = p_id FOR UPDATE;
        EXIT WHEN FOUND OR octet_length(p_id) NOT BETWEEN 1 AND 1000;
        -- Takes the place of one that does not exist: a first save must wait, or what it writes would be taken for
        -- what is left.
        INSERT INTO @extschema@.executions (id, definition_id, data, version)
        VALUES (p_id, '', '', 1)
        ON CONFLICT (id) DO NOTHING;
        EXIT WHEN FOUND;
    END LOOP;
    IF v_version <> p_expected_version THEN
        RETURN false;
    END IF;
    DELETE FROM @extschema@.executions e WHERE e.id = p_id;
    -- What is on its way into the queue goes before the queue: whoever moves it there is waited for, and waits for no
    -- group. So are dead letters, which harel_redrive() locks before their groups.
    DELETE FROM @extschema@.timers t WHERE t.execution_id = p_id;
    -- What it has emitted for others is theirs.
    DELETE FROM @extschema@.outbox o WHERE o.target_id = p_id;
    DELETE FROM @extschema@.spawns s WHERE s.parent_id = p_id;
    DELETE FROM @extschema@.dead_letters d WHERE d.group_id = p_id;
    PERFORM FROM @extschema@.transport_groups g WHERE g.group_id = p_id FOR UPDATE;
    -- Without a group there are no messages; those of one that is made meanwhile are not of the past.
    IF FOUND THEN
        DELETE FROM @extschema@.transport_messages m WHERE m.group_id = p_id;
        DELETE FROM @extschema@.transport_groups g WHERE g.group_id = p_id;
    END IF;
    -- Those that came from the queue while this waited.
    DELETE FROM @extschema@.dead_letters d
    WHERE d.id IN (SELECT l.id FROM @extschema@.dead_letters l WHERE l.group_id = p_id FOR UPDATE SKIP LOCKED);
    DELETE FROM @extschema@.trace t WHERE t.execution_id = p_id;
    DELETE FROM @extschema@.processed_events p WHERE p.execution_id = p_id;
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

-- Sweeps: a bounded batch at each call, which waits for no execution that is being worked on.

CREATE FUNCTION @extschema@.harel__time_before(p_older_than double precision, p_now double precision)
RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
BEGIN
    PERFORM @extschema@.harel__check_duration('age', p_older_than);
    -- Within the years that a timestamp can hold.
    RETURN to_timestamp(least(greatest(v_now - p_older_than, -200000000000), 200000000000));
END
$$;
COMMENT ON FUNCTION @extschema@.harel__time_before(double precision, double precision)
IS 'Internal. The time p_older_than seconds before p_now (NULL: now). Raises ST006 or ST011.';
REVOKE ALL ON FUNCTION @extschema@.harel__time_before(double precision, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__archive(p_archive text) RETURNS regproc
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_function regprocedure;
BEGIN
    IF p_archive IS NULL THEN
        RETURN NULL;
    END IF;
    BEGIN
        v_function := to_regprocedure(p_archive);
    EXCEPTION WHEN OTHERS THEN
        -- What is no signature raises one error or another.
        v_function := NULL;
    END;
    IF NOT EXISTS (
        SELECT FROM pg_proc p
        WHERE p.oid = v_function AND p.prokind = 'f' AND oidvectortypes(p.proargtypes) = 'text, text'
    ) THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST013',
            MESSAGE = 'the archive must be a function of an id and its data, both text',
            DETAIL = format('It is %L.', left(p_archive, 100)),
            HINT = 'Pass its name with the schema, for instance archive.keep(text,text).';
    END IF;
    RETURN v_function::oid;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__archive(text)
IS 'Internal. The function of this name that takes two texts; NULL for NULL, and otherwise raises ST013.';
REVOKE ALL ON FUNCTION @extschema@.harel__archive(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_purge_finished(
    p_older_than double precision,
    p_limit integer DEFAULT 1000,
    p_archive text DEFAULT NULL,
    p_now double precision DEFAULT NULL
) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    v_before timestamptz := @extschema@.harel__time_before(p_older_than, p_now);
    v_archive regproc := @extschema@.harel__archive(p_archive);
    v_exe record;
    v_ids text[] := '{}';
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_purge_finished(v_before, p_limit, v_archive);
    END IF;
    FOR v_exe IN
        SELECT e.id, e.data
        FROM @extschema@.executions e
        WHERE e.finished_at IS NOT NULL
            AND e.finished_at < v_before
            -- OFFSET 0: each is looked up by its key, whatever was known of the tables when the plan was made.
            AND NOT EXISTS (SELECT FROM @extschema@.transport_groups g WHERE g.group_id = e.id OFFSET 0)
            AND NOT EXISTS (SELECT FROM @extschema@.outbox o WHERE o.target_id = e.id OFFSET 0)
            AND NOT EXISTS (SELECT FROM @extschema@.spawns s WHERE s.parent_id = e.id OFFSET 0)
        ORDER BY e.finished_at
        LIMIT p_limit
        FOR UPDATE OF e SKIP LOCKED
    LOOP
        IF v_archive IS NOT NULL THEN
            -- A regproc is written with its schema and in quotes where it needs them.
            EXECUTE format('SELECT %s($1, $2)', v_archive) USING v_exe.id, v_exe.data;
        END IF;
        v_ids := v_ids || v_exe.id;
    END LOOP;
    DELETE FROM @extschema@.executions e WHERE e.id = ANY (v_ids);
    DELETE FROM @extschema@.dead_letters d WHERE d.group_id = ANY (v_ids);
    DELETE FROM @extschema@.timers t WHERE t.execution_id = ANY (v_ids);
    DELETE FROM @extschema@.trace t WHERE t.execution_id = ANY (v_ids);
    DELETE FROM @extschema@.processed_events p WHERE p.execution_id = ANY (v_ids);
    RETURN cardinality(v_ids);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_purge_finished(double precision, integer, text, double precision)
IS
'Removes up to p_limit executions (NULL: all) that finished more than p_older_than seconds ago, longest ago first, '
'each with its timers, trace, ledger and dead letters. One for which something waits in the queue or the outbox, or '
'whose children are yet to be created, and one that is being worked on, is left for another call. p_archive: a '
'function called with the id and the data of each before it goes, with nothing but pg_catalog in the search path; '
'where it raises, all stay. Returns how many were removed. Raises ST006, ST008, ST011 or ST013.';
REVOKE ALL ON FUNCTION @extschema@.harel_purge_finished(double precision, integer, text, double precision)
FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_purge_processed(
    p_older_than double precision,
    p_limit integer DEFAULT 10000,
    p_now double precision DEFAULT NULL
) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    v_before timestamptz := @extschema@.harel__time_before(p_older_than, p_now);
    v_tids tid[];
    v_count integer;
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_purge_processed(v_before, p_limit);
    END IF;
    v_tids := ARRAY(
        SELECT p.ctid
        FROM @extschema@.processed_events p
        WHERE p.processed_at < v_before
        ORDER BY p.processed_at
        LIMIT p_limit
        FOR UPDATE SKIP LOCKED
    );
    DELETE FROM @extschema@.processed_events p WHERE p.ctid = ANY (v_tids);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_purge_processed(double precision, integer, double precision)
IS
'Forgets up to p_limit events (NULL: all) that were handled more than p_older_than seconds ago, oldest first: one '
'delivered once more would be handled again. Returns how many. Raises ST006, ST008 or ST011.';
REVOKE ALL ON FUNCTION @extschema@.harel_purge_processed(double precision, integer, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_ids_with_prefix(p_prefix text, p_limit integer DEFAULT NULL) RETURNS SETOF text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
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
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY
        SELECT e.id FROM @extschema@.executions e
        WHERE pg_catalog.starts_with(e.id, p_prefix)
        ORDER BY e.id
        LIMIT p_limit;
        RETURN;
    END IF;
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
