-- Functions that look for rows by a key forbid what reads a whole table. A plan made while a table was empty, and
-- vacuumed so, would be kept by a session until the table is analyzed next, which may be a million rows later.

CREATE FUNCTION @extschema@.harel_load(p_id text) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
    v_data text;
BEGIN
    SELECT e.data INTO v_data FROM @extschema@.executions e WHERE e.id = p_id;
    RETURN v_data;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_load(text)
IS 'The data of an execution, byte for byte as it was committed; NULL where there is no such execution.';
REVOKE ALL ON FUNCTION @extschema@.harel_load(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_load_for_event(
    p_id text,
    p_event_id text,
    OUT data text,
    OUT already_processed boolean,
    OUT version integer
) RETURNS record
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
BEGIN
    -- One statement, as each may have to go to another node.
    IF p_event_id <> '' THEN
        SELECT
            e.data, e.version, EXISTS (
                SELECT FROM @extschema@.processed_events p WHERE p.execution_id = p_id AND p.event_id = p_event_id
            )
        INTO data, version, already_processed
        FROM @extschema@.executions e
        WHERE e.id = p_id;
    ELSE
        SELECT e.data, e.version
        INTO data, version
        FROM @extschema@.executions e
        WHERE e.id = p_id;
    END IF;
    already_processed := coalesce(already_processed, false);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_load_for_event(text, text)
IS
'The data and version of an execution, and whether it has handled the event already; NULL, false, NULL where there is '
'no such execution. Without an event (NULL or empty) already_processed is false.';
REVOKE ALL ON FUNCTION @extschema@.harel_load_for_event(text, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_is_processed(p_id text, p_event_id text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
BEGIN
    PERFORM FROM @extschema@.processed_events p WHERE p.execution_id = p_id AND p.event_id = p_event_id;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_is_processed(text, text)
IS 'Whether the execution has handled the event: true once the commit that named the event is visible.';
REVOKE ALL ON FUNCTION @extschema@.harel_is_processed(text, text) FROM PUBLIC;
