CREATE FUNCTION @extschema@.harel_load(p_id text) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (SELECT e.data FROM @extschema@.executions e WHERE e.id = p_id);
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
AS $$
BEGIN
    SELECT e.data, e.version, p.event_id IS NOT NULL
    INTO harel_load_for_event.data, harel_load_for_event.version, already_processed
    FROM @extschema@.executions e
    LEFT JOIN @extschema@.processed_events p ON p.execution_id = e.id AND p.event_id = p_event_id
    WHERE e.id = p_id;
    already_processed := FOUND AND already_processed;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_load_for_event(text, text)
IS
'The data and version of an execution, and whether it has handled the event already; NULL, false, NULL where '
'there is no such execution. Without an event (NULL or empty) already_processed is false.';
REVOKE ALL ON FUNCTION @extschema@.harel_load_for_event(text, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_is_processed(p_id text, p_event_id text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM @extschema@.processed_events p
        WHERE p.execution_id = p_id AND p.event_id = p_event_id
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel_is_processed(text, text)
IS 'Whether the execution has handled the event: true once the commit that named the event is visible.';
REVOKE ALL ON FUNCTION @extschema@.harel_is_processed(text, text) FROM PUBLIC;
