-- Data is text of the worker's making and stays so, but for the members that the store itself must change: they are
-- replaced in the text as it stands, which keeps every other byte of every value.
CREATE FUNCTION @extschema@.harel__set_member(p_data text, p_key text, p_value text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
    v_tokens text[] := ARRAY(
        SELECT t.match[1]
        FROM regexp_matches(p_data, '("(?:[^"\\]|\\.)*"|[][{}:,]|\s+|[^][{}:,"\s]+)', 'g')
            WITH ORDINALITY AS t (match, n)
        ORDER BY t.n
    );
    v_key text := to_json(p_key);
    v_depth integer := 0;
    v_last text;
    v_first integer;
    v_is_value boolean := false;
    v_found boolean := false;
BEGIN
    FOR i IN 1 .. cardinality(v_tokens) LOOP
        CONTINUE WHEN v_tokens[i] ~ '^\s';
        IF v_is_value THEN
            IF v_tokens[i] IN ('{', '[') THEN
                EXIT;
            END IF;
            v_tokens[i] := p_value;
            v_found := true;
            v_is_value := false;
        ELSIF v_tokens[i] IN ('{', '[') THEN
            v_depth := v_depth + 1;
            v_first := coalesce(v_first, i);
        ELSIF v_tokens[i] IN ('}', ']') THEN
            IF v_depth = 1 AND NOT v_found THEN
                v_tokens[v_first] := format('{%s:%s', v_key, p_value) || CASE WHEN v_last <> '{' THEN ',' ELSE '' END;
                v_found := true;
            END IF;
            v_depth := v_depth - 1;
        ELSIF v_tokens[i] = ':' THEN
            v_is_value := v_depth = 1 AND (
                v_last = v_key
                OR strpos(v_last, '\u') > 0
                AND @extschema@.harel__member(format('{"key":%s}', v_last), 'key') = p_key
            );
        END IF;
        v_last := v_tokens[i];
        EXIT WHEN v_first IS NULL OR v_tokens[v_first] = '[';
    END LOOP;
    RETURN CASE WHEN v_found AND NOT v_is_value THEN array_to_string(v_tokens, '') END;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__set_member(text, text, text)
IS
'Internal. Data with the value, a JSON text, of one member at its top level set; NULL where it is no object, or where '
'that member is an object or an array.';
REVOKE ALL ON FUNCTION @extschema@.harel__set_member(text, text, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__refuse_control(p_id text, p_data text, p_version integer) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_version = 2147483647 THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST002',
            MESSAGE = 'an execution at the last version cannot be changed',
            DETAIL = format('Execution %L: the version is %s.', left(p_id, 40), p_version),
            HINT = 'Purge it, or go on with another execution in its place.';
    END IF;
    RAISE EXCEPTION USING
        ERRCODE = 'ST003',
        MESSAGE = 'data must be a JSON object with a plain status and version',
        DETAIL = format('Execution %L: data begins with %L.', left(p_id, 40), left(p_data, 40)),
        HINT = 'Commit such data first; then its status can be changed from outside.';
END
$$;
COMMENT ON FUNCTION @extschema@.harel__refuse_control(text, text, integer)
IS 'Internal. Raises ST002 or ST003 for an execution whose status cannot be changed.';
REVOKE ALL ON FUNCTION @extschema@.harel__refuse_control(text, text, integer) FROM PUBLIC;

-- The version moves, so that a worker in the middle of a step loses it.
CREATE FUNCTION @extschema@.harel__bring_to(
    p_id text, p_definition_id text, p_data text, p_version integer, p_status text, p_to text, p_strict boolean
) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_status text := p_to;
    v_data text;
BEGIN
    IF NOT @extschema@.harel__can_become(p_status, p_to) THEN
        RETURN false;
    END IF;
    v_data := CASE WHEN p_version < 2147483647
        THEN @extschema@.harel__set_member(p_data, 'version', (p_version + 1)::text)
    END;
    -- One that was not RUNNING resumes as what it was.
    IF p_to = 'SUSPENDED' AND p_status NOT IN ('RUNNING', '') THEN
        v_data := @extschema@.harel__set_member(v_data, 'resumes_as', to_json(p_status)::text);
    ELSIF p_to = 'SUSPENDED' AND @extschema@.harel__member(v_data, 'resumes_as') IS NOT NULL THEN
        -- Kept by whoever committed it out of an earlier suspension.
        v_data := @extschema@.harel__set_member(v_data, 'resumes_as', 'null');
    ELSIF p_to = 'RUNNING' THEN
        v_status := coalesce(@extschema@.harel__member(v_data, 'resumes_as'), p_to);
        IF v_status <> p_to THEN
            v_data := @extschema@.harel__set_member(v_data, 'resumes_as', 'null');
        END IF;
    END IF;
    v_data := @extschema@.harel__set_member(v_data, 'status', to_json(v_status)::text);
    IF v_data IS NULL THEN
        IF p_strict THEN
            PERFORM @extschema@.harel__refuse_control(p_id, p_data, p_version);
        END IF;
        RETURN false;
    END IF;
    RETURN @extschema@.harel__swap(p_id, p_definition_id, v_data, p_version, NULL);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__bring_to(text, text, text, integer, text, text, boolean)
IS
'Internal. Brings an execution that the caller has locked to SUSPENDED, RUNNING or CANCELLED, if it can be; returns '
'whether it was. Where data or version leaves no room it raises ST002 or ST003, or, unless p_strict, does nothing.';
REVOKE ALL ON FUNCTION @extschema@.harel__bring_to(text, text, text, integer, text, text, boolean) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__descent(p_ids text[]) RETURNS text[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
BEGIN
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_descent(p_ids);
    END IF;
    RETURN ARRAY(
        WITH RECURSIVE tree (id) AS (
            SELECT r.id COLLATE "C" FROM unnest(p_ids) AS r (id)
            UNION
            SELECT e.id
            FROM tree t
            CROSS JOIN LATERAL (
                SELECT e.id FROM @extschema@.executions e
                WHERE e.parent_id = t.id AND octet_length(e.parent_id) <= 1000
                OFFSET 0
            ) e
        )
        SELECT t.id FROM tree t
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel__descent(text[])
IS 'Internal. These ids, and those of all executions that descend from one of them, as they are at this moment.';
REVOKE ALL ON FUNCTION @extschema@.harel__descent(text[]) FROM PUBLIC;

-- Executions are locked with their descendants, then their groups, each in the order of the ids, as by harel_finish().
-- Whoever creates a child has locked its parent: the tree is whole once all in it are locked.
CREATE FUNCTION @extschema@.harel__control(p_ids text[], p_to text, p_strict boolean) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(NULL);
    v_tree text[];
    v_locked integer := 0;
    v_row record;
    v_changed text[] := '{}';
    v_groups text[];
BEGIN
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_control(p_ids, p_to, p_strict);
    END IF;
    LOOP
        v_tree := @extschema@.harel__descent(p_ids);
        EXIT WHEN cardinality(v_tree) = v_locked;
        PERFORM FROM @extschema@.executions e WHERE e.id = ANY (v_tree) ORDER BY e.id FOR NO KEY UPDATE;
        v_locked := cardinality(v_tree);
    END LOOP;
    FOR v_row IN
        SELECT e.id, e.definition_id, e.data, e.version, e.status
        FROM @extschema@.executions e
        WHERE e.id = ANY (v_tree)
        ORDER BY e.id
    LOOP
        CONTINUE WHEN NOT @extschema@.harel__bring_to(
            v_row.id, v_row.definition_id, v_row.data, v_row.version, v_row.status, p_to, p_strict
        );
        v_changed := v_changed || v_row.id;
    END LOOP;
    IF p_to = 'CANCELLED' THEN
        -- Before the groups: whoever moves them into the queue is waited for, and waits for no group.
        DELETE FROM @extschema@.timers t WHERE t.execution_id = ANY (v_changed);
        DELETE FROM @extschema@.spawns s WHERE s.parent_id = ANY (v_changed);
    END IF;
    -- A group that is made meanwhile is none of them; harel_next() sees to it.
    v_groups := ARRAY(
        SELECT g.group_id FROM @extschema@.transport_groups g
        WHERE g.group_id = ANY (v_changed)
        ORDER BY g.group_id
        FOR UPDATE
    );
    IF p_to = 'SUSPENDED' THEN
        UPDATE @extschema@.transport_groups g
        SET available_at = 'Infinity', token = NULL, worker = NULL
        WHERE g.group_id = ANY (v_groups);
    ELSIF p_to = 'RUNNING' THEN
        -- The sum keeps this from the index by time, on which all that are suspended stand in one place.
        UPDATE @extschema@.transport_groups g
        SET available_at = v_now
        WHERE g.group_id = ANY (v_groups) AND g.available_at + 0 = 'Infinity';
        PERFORM @extschema@.harel__wake();
    ELSE
        PERFORM @extschema@.harel__bury(v_groups, 'the execution was cancelled', true, v_now);
    END IF;
    RETURN v_changed <> '{}';
END
$$;
COMMENT ON FUNCTION @extschema@.harel__control(text[], text, boolean)
IS
'Internal. Brings executions, and all that descend from them, to SUSPENDED, RUNNING or CANCELLED where they can be; '
'returns whether one was. One whose data or version leaves no room for it raises ST002 or ST003, or, unless p_strict, '
'is passed over.';
REVOKE ALL ON FUNCTION @extschema@.harel__control(text[], text, boolean) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__can_become(p_status text, p_to text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE p_to
        WHEN 'RUNNING' THEN p_status = 'SUSPENDED'
        WHEN 'SUSPENDED' THEN p_status NOT IN ('SUSPENDED', 'DONE', 'CANCELLED', 'FAILED')
        ELSE p_status NOT IN ('DONE', 'CANCELLED', 'FAILED')
    END;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__can_become(text, text)
IS 'Internal. Whether an execution of one status can be brought to RUNNING, SUSPENDED or CANCELLED.';
REVOKE ALL ON FUNCTION @extschema@.harel__can_become(text, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__control_all(
    p_definition_id text, p_statuses text[], p_roots_only boolean, p_dry_run boolean, p_to text
) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_ids text[];
BEGIN
    SELECT coalesce(array_agg(e.id), '{}') INTO v_ids
    FROM @extschema@.executions e
    WHERE (p_definition_id IS NULL OR e.definition_id = p_definition_id)
        AND (p_statuses IS NULL OR e.status = ANY (p_statuses))
        AND (p_roots_only IS NOT TRUE OR e.parent_id IS NULL)
        AND @extschema@.harel__can_become(e.status, p_to);
    IF p_dry_run IS NOT TRUE THEN
        PERFORM @extschema@.harel__control(v_ids, p_to, true);
    END IF;
    RETURN cardinality(v_ids);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__control_all(text, text[], boolean, boolean, text)
IS 'Internal. harel__control() of all that match a filter; returns how many match and can be changed.';
REVOKE ALL ON FUNCTION @extschema@.harel__control_all(text, text[], boolean, boolean, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_suspend(p_id text) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_id IS NULL THEN
        PERFORM @extschema@.harel__refuse_key(p_id, 'execution id', p_id);
    END IF;
    RETURN @extschema@.harel__control(ARRAY[p_id], 'SUSPENDED', true);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_suspend(text)
IS
'Suspends an execution and its children: their messages stay in the queue until harel_resume(), and a step in '
'progress is lost. Returns whether anything was suspended. Raises ST001 for NULL, and ST002 or '
'ST003 where the last version is reached or data is no JSON object.';
REVOKE ALL ON FUNCTION @extschema@.harel_suspend(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_suspend_all(
    p_definition_id text DEFAULT NULL,
    p_statuses text[] DEFAULT NULL,
    p_roots_only boolean DEFAULT false,
    p_dry_run boolean DEFAULT false
) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN @extschema@.harel__control_all(p_definition_id, p_statuses, p_roots_only, p_dry_run, 'SUSPENDED');
END
$$;
COMMENT ON FUNCTION @extschema@.harel_suspend_all(text, text[], boolean, boolean)
IS
'harel_suspend() of all executions of a definition (NULL: any) with one of these statuses (NULL: any), or only of '
'those without a parent; p_dry_run changes nothing. Returns how many match and can be suspended, not counting the '
'children of these. Raises ST002 or ST003 for what cannot be by itself, and then none is.';
REVOKE ALL ON FUNCTION @extschema@.harel_suspend_all(text, text[], boolean, boolean) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_resume(p_id text) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_id IS NULL THEN
        PERFORM @extschema@.harel__refuse_key(p_id, 'execution id', p_id);
    END IF;
    RETURN @extschema@.harel__control(ARRAY[p_id], 'RUNNING', true);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_resume(text)
IS
'Resumes a suspended execution and its children, in the status that they had; their messages can be claimed again. '
'Returns whether anything was resumed. Raises ST001 for NULL, and ST002 or ST003 where the last version is reached or '
'data is no JSON object.';
REVOKE ALL ON FUNCTION @extschema@.harel_resume(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_resume_all(
    p_definition_id text DEFAULT NULL,
    p_statuses text[] DEFAULT NULL,
    p_roots_only boolean DEFAULT false,
    p_dry_run boolean DEFAULT false
) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN @extschema@.harel__control_all(p_definition_id, p_statuses, p_roots_only, p_dry_run, 'RUNNING');
END
$$;
COMMENT ON FUNCTION @extschema@.harel_resume_all(text, text[], boolean, boolean)
IS
'harel_resume() of all executions of a definition (NULL: any) with one of these statuses (NULL: any), or only of '
'those without a parent; p_dry_run changes nothing. Returns how many match and can be resumed, not counting the '
'children of these. Raises ST002 or ST003 for what cannot be by itself, and then none is.';
REVOKE ALL ON FUNCTION @extschema@.harel_resume_all(text, text[], boolean, boolean) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_cancel(p_id text) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_id IS NULL THEN
        PERFORM @extschema@.harel__refuse_key(p_id, 'execution id', p_id);
    END IF;
    RETURN @extschema@.harel__control(ARRAY[p_id], 'CANCELLED', true);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_cancel(text)
IS
'Cancels an execution and its children: their timers and pending spawns are removed, their messages become dead '
'letters, and a step in progress is lost. Returns whether anything was cancelled. Raises ST001 for NULL, and ST002 '
'or ST003 where the last version is reached or data is no JSON object.';
REVOKE ALL ON FUNCTION @extschema@.harel_cancel(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_cancel_all(
    p_definition_id text DEFAULT NULL,
    p_statuses text[] DEFAULT NULL,
    p_roots_only boolean DEFAULT false,
    p_dry_run boolean DEFAULT false
) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN @extschema@.harel__control_all(p_definition_id, p_statuses, p_roots_only, p_dry_run, 'CANCELLED');
END
$$;
COMMENT ON FUNCTION @extschema@.harel_cancel_all(text, text[], boolean, boolean)
IS
'harel_cancel() of all executions of a definition (NULL: any) with one of these statuses (NULL: any), or only of '
'those without a parent; p_dry_run changes nothing. Returns how many match and can be cancelled, not counting the '
'children of these. Raises ST002 or ST003 for what cannot be by itself, and then none is.';
REVOKE ALL ON FUNCTION @extschema@.harel_cancel_all(text, text[], boolean, boolean) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_send(
    p_id text, p_event text, p_now double precision DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
    v_priority integer;
BEGIN
    SELECT e.priority INTO v_priority FROM @extschema@.executions e WHERE e.id = p_id;
    IF v_priority IS NULL AND p_id IS NOT NULL THEN
        PERFORM @extschema@.harel__refuse_elsewhere(ARRAY[p_id]);
        RETURN NULL;
    END IF;
    RETURN @extschema@.harel_publish(p_id, p_event, v_priority, p_now);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_send(text, text, double precision)
IS
'harel_publish() at the priority of the execution that the event is for; NULL, and nothing published, where there is '
'no such execution. Raises ST001, ST003 or ST006, and ST018 for an execution of another shard.';
REVOKE ALL ON FUNCTION @extschema@.harel_send(text, text, double precision) FROM PUBLIC;
