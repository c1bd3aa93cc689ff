\echo Use "CREATE EXTENSION harel" to load this file. \quit

-- harel: a durable execution store for statecharts.
--
-- One row of `executions` is one running statechart. A worker loads it, decides the next state in its own
-- language and calls harel_commit_cas() or harel_commit() with the version that it loaded. The UPDATE of that
-- row, guarded by the version, is the only gate: it takes the row's lock, so of two workers that hold the same
-- version one changes the row and the other finds that the version has moved and is told false. Whatever else
-- the step caused is written behind that gate in the same transaction:
--
--   outbox            events to send, in the order they were emitted
--   spawns            child executions to create
--   timers            armed deadlines, one for each path of an execution
--   trace             what happened, as a ring with durable numbers
--   processed_events  the events already handled, so that one delivered twice is applied once
--
-- A crash before the commit leaves none of it and a crash after leaves all of it. What moves rows on (a relay,
-- a sweeper) reads them with the harel_pending_*() and harel_due_*() functions and settles them one by one.
--
-- Conventions. Arguments are p_*, locals v_*. Names are qualified and the search path is pinned, so that no
-- object of a caller can stand in for one of ours. A lost race is an answer (false, 0, NULL). An exception means
-- a mistake of the caller: its SQLSTATE is of class ST, with a DETAIL that names the ids and a HINT.
-- Functions named harel__* are internal. A commit touches rows of its own execution id only.
-- Mistakes of a caller that more than one function meets. The codes of class ST:
--
--   ST001  an id, path or other key is missing, empty or too long
--   ST002  a version, or a trace cap, is out of range
--   ST003  the data of an execution is missing or not JSON, or a text that goes with it is missing
--   ST004  parallel arrays of unequal length or shape, or with a NULL where a value is needed
--   ST005  an unknown timer action
--   ST006  a time that is missing, NaN or infinite
--   ST007  a cursor that harel_list() did not make
--   ST008  a limit that is out of range
--   ST009  an unknown role or kind of access

-- Keys of 1000 bytes keep every index entry under a third of a page, the most that a B-tree takes.
CREATE FUNCTION @extschema@.harel__refuse_key(p_id text, p_what text, p_key text) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = 'ST001',
        MESSAGE = format('the %s must be a text of 1 to 1000 bytes', p_what),
        DETAIL = format('Execution %L: the %s ', left(p_id, 40), p_what) || CASE
            WHEN p_key IS NULL THEN 'is NULL.'
            ELSE format('has %s bytes and begins with %L.', octet_length(p_key), left(p_key, 40))
        END,
        HINT = 'Pass the same non-empty text each time; a longer key can be replaced by a hash of it.';
END
$$;
COMMENT ON FUNCTION @extschema@.harel__refuse_key(text, text, text)
IS 'Internal. Raises ST001 for a key, of a call for an execution, that is missing, empty or longer than 1000 bytes.';
REVOKE ALL ON FUNCTION @extschema@.harel__refuse_key(text, text, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__check_limit(p_limit bigint) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_limit < 0 THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST008',
            MESSAGE = 'limit must not be negative',
            DETAIL = format('The limit is %s.', p_limit),
            HINT = 'Pass the greatest number of rows wanted, or NULL for all of them.';
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__check_limit(bigint)
IS 'Internal. Raises ST008 for a negative number of rows.';
REVOKE ALL ON FUNCTION @extschema@.harel__check_limit(bigint) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__refuse_time(p_what text, p_time double precision) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = 'ST006',
        MESSAGE = 'a time must be a finite number of seconds since the epoch',
        DETAIL = format('%s: the time is %s.', p_what, coalesce(p_time::text, 'NULL')),
        HINT = 'Pass for instance extract(epoch FROM clock_timestamp()), as double precision.';
END
$$;
COMMENT ON FUNCTION @extschema@.harel__refuse_time(text, double precision)
IS 'Internal. Raises ST006 for a time that is missing, NaN or infinite.';
REVOKE ALL ON FUNCTION @extschema@.harel__refuse_time(text, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__refuse_seq() RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = 'ST001',
        MESSAGE = 'seq must not be NULL',
        DETAIL = 'NULL names no row.',
        HINT = 'Pass the seq that harel_pending_outbox() or harel_pending_spawns() gave.';
END
$$;
COMMENT ON FUNCTION @extschema@.harel__refuse_seq()
IS 'Internal. Raises ST001 for a missing seq.';
REVOKE ALL ON FUNCTION @extschema@.harel__refuse_seq() FROM PUBLIC;
-- Ids compare as bytes (COLLATE "C"): the same order on every server, and a prefix is a range of the index.
-- CHECKs are few and short: PostgreSQL reads the text of each anew for every INSERT and UPDATE, and three took a
-- tenth of the time of a commit. The length of keys is checked by the functions.

CREATE TABLE @extschema@.executions (
    id text COLLATE "C" NOT NULL,
    definition_id text COLLATE "C" NOT NULL,
    data text NOT NULL,
    version integer NOT NULL,
    status text COLLATE "C" NOT NULL DEFAULT '',
    outcome text,
    active_path text,
    parent_id text COLLATE "C",
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    CONSTRAINT executions_pkey PRIMARY KEY (id),
    CONSTRAINT executions_version_positive CHECK (version > 0)
)
-- Room on each page for the next versions of its rows: a commit that keeps its status is then a HOT update.
WITH (fillfactor = 60);
COMMENT ON TABLE @extschema@.executions
IS 'One row a running statechart; read by the harel_load and harel_list functions, written by the commits only.';
COMMENT ON COLUMN @extschema@.executions.data
IS 'The whole Execution as JSON text, returned byte for byte.';
COMMENT ON COLUMN @extschema@.executions.version
IS 'Number of commits so far; a commit must name the one that it loaded.';
COMMENT ON COLUMN @extschema@.executions.status
IS 'Copied from data at commit, at most 100 characters; empty where data has none.';
COMMENT ON COLUMN @extschema@.executions.finished_at
IS 'Time of the commit that brought the status to DONE, CANCELLED or FAILED; NULL in any other status.';

CREATE TABLE @extschema@.outbox (
    seq bigserial NOT NULL,
    target_id text COLLATE "C",
    event text NOT NULL,
    source_id text COLLATE "C",
    CONSTRAINT outbox_pkey PRIMARY KEY (seq)
);
COMMENT ON TABLE @extschema@.outbox
IS 'Events emitted by commits and not yet sent, oldest first by seq.';
COMMENT ON COLUMN @extschema@.outbox.target_id
IS 'The execution that the event is for; NULL for a broadcast.';
COMMENT ON COLUMN @extschema@.outbox.source_id
IS 'The execution that emitted the event.';

CREATE TABLE @extschema@.processed_events (
    execution_id text COLLATE "C" NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    processed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT processed_events_pkey PRIMARY KEY (execution_id, event_id)
);
COMMENT ON TABLE @extschema@.processed_events
IS 'The events that each execution has handled, written by the commit that handled them.';

CREATE TABLE @extschema@.timers (
    execution_id text COLLATE "C" NOT NULL,
    path text COLLATE "C" NOT NULL,
    fire_at double precision NOT NULL,
    CONSTRAINT timers_pkey PRIMARY KEY (execution_id, path),
    CONSTRAINT timers_fire_at_finite CHECK (abs(fire_at) < 'Infinity')
);
COMMENT ON TABLE @extschema@.timers
IS 'Armed timers, at most one for each path of an execution.';
COMMENT ON COLUMN @extschema@.timers.fire_at
IS 'When the timer is due, in seconds since the epoch.';

CREATE TABLE @extschema@.spawns (
    seq bigserial NOT NULL,
    parent_id text COLLATE "C" NOT NULL,
    child_id text COLLATE "C" NOT NULL,
    root_path text NOT NULL,
    context text NOT NULL,
    CONSTRAINT spawns_pkey PRIMARY KEY (seq)
);
COMMENT ON TABLE @extschema@.spawns
IS 'Child executions that commits asked for and that are not yet created, oldest first by seq.';
COMMENT ON COLUMN @extschema@.spawns.context
IS 'The context that the child starts with, as JSON text.';

CREATE TABLE @extschema@.trace (
    execution_id text COLLATE "C" NOT NULL,
    idx integer NOT NULL,
    entry text NOT NULL,
    CONSTRAINT trace_pkey PRIMARY KEY (execution_id, idx)
);
COMMENT ON TABLE @extschema@.trace
IS 'What happened to each execution; idx counts from 0, is never renumbered, and only the last ones may be kept.';
-- Besides the primary keys. Each names the function that it serves.
--
-- The order of the first two is that of harel_list(): equality on what is filtered, then the id that pages go by.
-- Whether an execution is a root stands before the id, or a page of roots would have to step over every child.
-- None holds an expression over data, and version and updated_at are in none: a commit that keeps status,
-- definition and parent changes no index entry.

-- serves harel_list() with a definition
CREATE INDEX executions_by_definition ON @extschema@.executions
(definition_id, status, (parent_id IS NULL), id);

-- serves harel_list() with statuses or roots only, over all definitions
CREATE INDEX executions_by_status ON @extschema@.executions
(status, (parent_id IS NULL), id);

-- serves harel_due_timers(): earliest due first, ties in the order of their keys
CREATE INDEX timers_by_fire_at ON @extschema@.timers
(fire_at, execution_id, path);
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
-- jsonb cannot hold everything that JSON allows: a \u0000, half of a surrogate pair, a number like 1e999999. Such
-- data is stored like any other; only the fields broken out of it have to be read in another way. The type json checks
-- the grammar without evaluating numbers, but decodes each escape, so those that PostgreSQL has no character for
-- are replaced by U+FFFD in a copy.
CREATE FUNCTION @extschema@.harel__fields(p_id text, p_data text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
    v_copy text;
    v_json json;
BEGIN
    BEGIN
        v_json := p_data::json;
    EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST003',
            MESSAGE = 'data must be JSON',
            DETAIL = format('Execution %L: %s.', left(p_id, 100), sqlerrm),
            HINT = 'Pass the whole execution as JSON text. NaN and Infinity are not JSON.';
    END;
    -- A pair of backslashes becomes the escape of one, so that the backslash of any other escape stands alone.
    v_copy := replace(p_data, '\\', '\u005c');
    v_copy := replace(v_copy, '\u0000', '\ufffd');
    v_copy := regexp_replace(v_copy, '\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})', '\\ufffd', 'g');
    v_copy := regexp_replace(v_copy, '(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}', '\\ufffd', 'g');
    BEGIN
        v_json := v_copy::json;
        RETURN jsonb_build_object(
            'status', v_json ->> 'status',
            'outcome', v_json ->> 'outcome',
            'active_path', v_json ->> 'active_path',
            'parent_id', v_json ->> 'parent_id'
        );
    EXCEPTION WHEN data_exception OR program_limit_exceeded OR feature_not_supported THEN
        -- An escape that the encoding of this database has no character for: the data is JSON all the same.
        RETURN '{}'::jsonb;
    END;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__fields(text, text)
IS 'Internal. The fields kept beside data, from data that jsonb cannot hold; raises ST003 where it is not JSON.';
REVOKE ALL ON FUNCTION @extschema@.harel__fields(text, text) FROM PUBLIC;

-- Tells a caller of a commit what is wrong with its arguments. It returns where nothing is, or where p_old is a version
-- that no row can have: that is a conflict.
CREATE FUNCTION @extschema@.harel__refuse_commit(
    p_id text, p_defn text, p_data text, p_old bigint, p_event text
) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_id IS NULL OR octet_length(p_id) NOT BETWEEN 1 AND 1000 THEN
        PERFORM @extschema@.harel__refuse_key(p_id, 'execution id', p_id);
    END IF;
    IF p_defn IS NULL OR octet_length(p_defn) NOT BETWEEN 1 AND 1000 THEN
        PERFORM @extschema@.harel__refuse_key(p_id, 'definition id', p_defn);
    END IF;
    IF octet_length(p_event) > 1000 THEN
        PERFORM @extschema@.harel__refuse_key(p_id, 'event id', p_event);
    END IF;
    IF p_data IS NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST003',
            MESSAGE = 'data must be JSON',
            DETAIL = format('Execution %L: data is NULL.', p_id),
            HINT = 'Pass the whole execution as JSON text.';
    END IF;
    IF p_old IS NULL OR p_old < 0 OR p_old = 2147483647 THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST002',
            MESSAGE = 'the version loaded must be between 0 and 2147483646',
            DETAIL = format('Execution %L: the version is %s.', p_id, coalesce(p_old::text, 'NULL')),
            HINT = 'Pass 0 for the first save, and after it the version that was loaded.';
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__refuse_commit(text, text, text, bigint, text)
IS 'Internal. Raises the error of class ST that the arguments of a commit deserve, if any.';
REVOKE ALL ON FUNCTION @extschema@.harel__refuse_commit(text, text, text, bigint, text) FROM PUBLIC;

-- The gate of every commit. It has no search path of its own: only the functions below call it, which pin theirs, and
-- to set it again costs as much as the rest of the call.
CREATE FUNCTION @extschema@.harel__swap(
    p_id text, p_defn text, p_data text, p_old bigint, p_event text
) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
DECLARE
    v_json jsonb;
    v_status text;
BEGIN
    -- Each expression here is paid for at every commit, so an id that can only match no row is looked at afterwards.
    IF p_data IS NULL
        OR (p_old BETWEEN 0 AND 2147483646) IS NOT TRUE
        OR (octet_length(p_defn) BETWEEN 1 AND 1000) IS NOT TRUE
    THEN
        PERFORM @extschema@.harel__refuse_commit(p_id, p_defn, p_data, p_old, p_event);
        RETURN false;
    END IF;

    BEGIN
        v_json := p_data::jsonb;
    EXCEPTION WHEN data_exception OR program_limit_exceeded OR feature_not_supported THEN
        v_json := @extschema@.harel__fields(p_id, p_data);
    END;

    v_status := v_json ->> 'status';

    IF p_old = 0 THEN
        IF (octet_length(p_id) BETWEEN 1 AND 1000) IS NOT TRUE THEN
            PERFORM @extschema@.harel__refuse_key(p_id, 'execution id', p_id);
        END IF;
        INSERT INTO @extschema@.executions AS e (
            id, definition_id, data, version, status, outcome, active_path, parent_id, finished_at
        ) VALUES (
            p_id, p_defn, p_data, 1,
            coalesce(left(v_status, 100), ''),
            v_json ->> 'outcome',
            v_json ->> 'active_path',
            v_json ->> 'parent_id',
            CASE WHEN v_status IN ('DONE', 'CANCELLED', 'FAILED') THEN now() END
        )
        ON CONFLICT (id) DO NOTHING;
    ELSE
        UPDATE @extschema@.executions AS e
        SET definition_id = p_defn,
            data = p_data,
            version = p_old + 1,
            status = coalesce(left(v_status, 100), ''),
            outcome = v_json ->> 'outcome',
            active_path = v_json ->> 'active_path',
            parent_id = v_json ->> 'parent_id',
            updated_at = now(),
            finished_at = CASE
                WHEN v_status IN ('DONE', 'CANCELLED', 'FAILED') THEN coalesce(e.finished_at, now())
            END
        WHERE e.id = p_id AND e.version = p_old;
    END IF;
    IF NOT FOUND THEN
        PERFORM @extschema@.harel__refuse_commit(p_id, p_defn, p_data, p_old, p_event);
        RETURN false;
    END IF;

    IF p_event <> '' THEN
        IF octet_length(p_event) > 1000 THEN
            PERFORM @extschema@.harel__refuse_key(p_id, 'event id', p_event);
        END IF;
        INSERT INTO @extschema@.processed_events (execution_id, event_id)
        VALUES (p_id, p_event)
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__swap(text, text, text, bigint, text)
IS 'Internal. harel_commit_cas() without its answer to a serialization failure.';
REVOKE ALL ON FUNCTION @extschema@.harel__swap(text, text, text, bigint, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_commit_cas(
    p_id text,
    p_defn text,
    p_data text,
    p_old bigint,
    p_event text DEFAULT NULL
) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Under READ COMMITTED a lost race matches no row. Under a stricter level PostgreSQL raises instead, and only there
    -- is a subtransaction, which spends a transaction id, worth its price.
    IF current_setting('transaction_isolation') = 'read committed' THEN
        RETURN @extschema@.harel__swap(p_id, p_defn, p_data, p_old, p_event);
    END IF;
    BEGIN
        RETURN @extschema@.harel__swap(p_id, p_defn, p_data, p_old, p_event);
    EXCEPTION WHEN serialization_failure THEN
        RETURN false;
    END;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_commit_cas(text, text, text, bigint, text)
IS
'Commits the next state of an execution if its version is still p_old (0: if it does not exist yet), and marks '
'the event p_event (unless NULL or empty) as processed. Returns whether it did; false is a lost race, and nothing '
'was written. Raises ST001, ST002 or ST003 for arguments that no execution can have.';
REVOKE ALL ON FUNCTION @extschema@.harel_commit_cas(text, text, text, bigint, text) FROM PUBLIC;
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
                coalesce(format('Execution %L', left(p_id, 40)), 'A batch'),
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
    p_trace_max integer
) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
DECLARE
    v_seq bigint;
    v_seqs bigint[] := '{}';
    v_idx integer;
BEGIN
    IF NOT @extschema@.harel__swap(p_id, p_defn, p_data, p_old, p_event) THEN
        RETURN NULL;
    END IF;

    -- For the handful of rows of one commit, a loop over plain INSERTs is faster than one INSERT from unnest(). What
    -- is said of a list stands behind the test for it, because even an expression that is not reached would cost more.
    IF p_emit_events IS NOT NULL OR p_emit_targets IS NOT NULL THEN
        IF array_dims(p_emit_targets) IS DISTINCT FROM array_dims(p_emit_events)
            OR array_ndims(p_emit_events) <> 1
            OR array_lower(p_emit_events, 1) <> 1
        THEN
            PERFORM @extschema@.harel__check_list(p_id, 'emits', array_dims(p_emit_targets), array_dims(p_emit_events));
        END IF;
        FOR i IN 1 .. coalesce(cardinality(p_emit_events), 0) LOOP
            IF p_emit_events[i] IS NULL THEN
                PERFORM @extschema@.harel__refuse_item(p_id, 'emits', i);
            ELSIF octet_length(p_emit_targets[i]) NOT BETWEEN 1 AND 1000 THEN
                PERFORM @extschema@.harel__refuse_key(p_id, 'target id', p_emit_targets[i]);
            END IF;
            INSERT INTO @extschema@.outbox (target_id, event, source_id)
            VALUES (p_emit_targets[i], p_emit_events[i], p_id)
            RETURNING seq INTO v_seq;
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
        FOR i IN 1 .. coalesce(cardinality(p_spawn_children), 0) LOOP
            IF p_spawn_root_paths[i] IS NULL OR p_spawn_contexts[i] IS NULL THEN
                PERFORM @extschema@.harel__refuse_item(p_id, 'spawns', i);
            ELSIF (octet_length(p_spawn_children[i]) BETWEEN 1 AND 1000) IS NOT TRUE THEN
                PERFORM @extschema@.harel__refuse_key(p_id, 'child id', p_spawn_children[i]);
            END IF;
            INSERT INTO @extschema@.spawns (parent_id, child_id, root_path, context)
            VALUES (p_id, p_spawn_children[i], p_spawn_root_paths[i], p_spawn_contexts[i]);
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
    text[], text[], text[], double precision[], text, integer
) IS
'Internal. The outbox seqs of a commit, or NULL where it lost; harel_commit() without its answer to a serialization '
'failure.';
REVOKE ALL ON FUNCTION @extschema@.harel__commit(
    text, text, text, bigint, text, text[], text[], text[], text[],
    text[], text[], text[], double precision[], text, integer
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
    OUT committed boolean,
    OUT stored_version integer,
    OUT outbox_seqs bigint[]
) RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- See harel_commit_cas() for the two ways.
    IF current_setting('transaction_isolation') = 'read committed' THEN
        outbox_seqs := @extschema@.harel__commit(
            p_id, p_defn, p_data, p_old, p_event, p_emit_targets, p_emit_events,
            p_spawn_children, p_spawn_root_paths, p_spawn_contexts,
            p_timer_actions, p_timer_paths, p_timer_fire_ats, p_trace, p_trace_max
        );
    ELSE
        BEGIN
            outbox_seqs := @extschema@.harel__commit(
                p_id, p_defn, p_data, p_old, p_event, p_emit_targets, p_emit_events,
                p_spawn_children, p_spawn_root_paths, p_spawn_contexts,
                p_timer_actions, p_timer_paths, p_timer_fire_ats, p_trace, p_trace_max
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
    text[], text[], text[], double precision[], text, integer
) IS
'harel_commit_cas() and, if it commits, what the step caused: events to the outbox in the order given (a NULL '
'target is a broadcast), spawns, timer operations in order (schedule replaces the time of its path, cancel '
'disarms it; seconds since the epoch) and a trace entry, of which the last p_trace_max are kept (0 or NULL: all). '
'Returns whether it committed, the version now stored (on a conflict the one found: NULL where there is no such '
'execution, or where the snapshot of a stricter isolation level hides it) and the seqs of the outbox rows in the '
'order given. Raises ST001 to ST006.';
REVOKE ALL ON FUNCTION @extschema@.harel_commit(
    text, text, text, bigint, text, text[], text[], text[], text[],
    text[], text[], text[], double precision[], text, integer
) FROM PUBLIC;
-- Writers of one execution's trace take turns: whoever numbers an entry by a snapshot from before another's entries
-- could give a number again that the ring has dropped meanwhile. They hold the lock of the execution's row, or, before
-- its first save, the advisory lock that stands for it.
CREATE FUNCTION @extschema@.harel__lock_new_trace(p_id text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('harel.trace:' || p_id, 0));
END
$$;
COMMENT ON FUNCTION @extschema@.harel__lock_new_trace(text)
IS 'Internal. Waits for the other writers of the trace of an execution that has no row yet.';
REVOKE ALL ON FUNCTION @extschema@.harel__lock_new_trace(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__push_trace(p_id text, p_entry text, p_max integer) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
DECLARE
    v_idx integer;
BEGIN
    IF p_max < 0 THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST002',
            MESSAGE = 'the cap of a trace must not be negative',
            DETAIL = format('Execution %L: the cap is %s.', p_id, p_max),
            HINT = 'Pass the number of entries to keep, or 0 or NULL to keep all.';
    END IF;
    INSERT INTO @extschema@.trace (execution_id, idx, entry)
    VALUES (
        p_id,
        coalesce(1 + (
            SELECT t.idx FROM @extschema@.trace t
            WHERE t.execution_id = p_id
            ORDER BY t.idx DESC
            LIMIT 1
        ), 0),
        p_entry
    )
    RETURNING idx INTO v_idx;
    -- Each entry pushes out the one p_max numbers before it. More go only where the cap was lowered or a number is
    -- missing: the newest of them is looked for first, because to delete a range that is open to below is to step
    -- over everything that was pushed out since the last vacuum.
    IF p_max > 0 AND v_idx >= p_max THEN
        DELETE FROM @extschema@.trace t WHERE t.execution_id = p_id AND t.idx = v_idx - p_max;
        PERFORM FROM @extschema@.trace t
        WHERE t.execution_id = p_id AND t.idx < v_idx - p_max
        ORDER BY t.idx DESC
        LIMIT 1;
        IF FOUND THEN
            DELETE FROM @extschema@.trace t WHERE t.execution_id = p_id AND t.idx < v_idx - p_max;
        END IF;
    END IF;
    RETURN v_idx;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__push_trace(text, text, integer)
IS 'Internal. Appends a trace entry for a caller that holds the lock of the trace; returns its idx.';
REVOKE ALL ON FUNCTION @extschema@.harel__push_trace(text, text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_append_trace(p_id text, p_entry text, p_max integer DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF (octet_length(p_id) BETWEEN 1 AND 1000) IS NOT TRUE THEN
        PERFORM @extschema@.harel__refuse_key(p_id, 'execution id', p_id);
    END IF;
    IF p_entry IS NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST003',
            MESSAGE = 'a trace entry must not be NULL',
            DETAIL = format('Execution %L.', p_id),
            HINT = 'Pass the entry as a text, for instance JSON.';
    END IF;
    PERFORM FROM @extschema@.executions e WHERE e.id = p_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM @extschema@.harel__lock_new_trace(p_id);
        -- The first save may have come while this waited.
        PERFORM FROM @extschema@.executions e WHERE e.id = p_id FOR NO KEY UPDATE;
    END IF;
    RETURN @extschema@.harel__push_trace(p_id, p_entry, p_max);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_append_trace(text, text, integer)
IS
'Appends an entry to the trace of an execution outside a commit and returns its idx; the last p_max entries are '
'kept, by their numbers (0 or NULL: all). Raises ST001, ST002 or ST003.';
REVOKE ALL ON FUNCTION @extschema@.harel_append_trace(text, text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_read_trace(p_id text) RETURNS TABLE (idx integer, entry text)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT t.idx, t.entry
    FROM @extschema@.trace t
    WHERE t.execution_id = p_id
    ORDER BY t.idx;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_read_trace(text)
IS 'The trace of an execution, oldest entry first, each with the idx that it was given.';
REVOKE ALL ON FUNCTION @extschema@.harel_read_trace(text) FROM PUBLIC;
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
            p_emit_targets[e:v_emit_ends[i]],
            p_emit_events[e:v_emit_ends[i]],
            p_spawn_children[s:v_spawn_ends[i]],
            p_spawn_root_paths[s:v_spawn_ends[i]],
            p_spawn_contexts[s:v_spawn_ends[i]],
            p_timer_actions[t:v_timer_ends[i]],
            p_timer_paths[t:v_timer_ends[i]],
            p_timer_fire_ats[t:v_timer_ends[i]],
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
    SELECT b.id, v_committed[b.place], v_versions[b.place], v_seqs[v_seq_starts[b.place]:v_seq_ends[b.place]]
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
CREATE FUNCTION @extschema@.harel_pending_outbox(p_limit integer DEFAULT NULL)
RETURNS TABLE (seq bigint, target_id text, event text, source_id text)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    RETURN QUERY
    SELECT o.seq, o.target_id, o.event, o.source_id
    FROM @extschema@.outbox o
    ORDER BY o.seq
    LIMIT p_limit;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_pending_outbox(integer)
IS
'The events waiting to be sent, oldest first, at most p_limit (NULL: all), with the execution that each is for '
'(NULL: a broadcast) and the one that emitted it. Raises ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_pending_outbox(integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_ack_outbox(p_seq bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_count integer;
BEGIN
    IF p_seq IS NULL THEN
        PERFORM @extschema@.harel__refuse_seq();
    END IF;
    DELETE FROM @extschema@.outbox o WHERE o.seq = p_seq;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_ack_outbox(bigint)
IS 'Removes an event that has been sent; returns 1, or 0 where it was not pending. Raises ST001 for NULL.';
REVOKE ALL ON FUNCTION @extschema@.harel_ack_outbox(bigint) FROM PUBLIC;
CREATE FUNCTION @extschema@.harel_pending_spawns(p_limit integer DEFAULT NULL)
RETURNS TABLE (seq bigint, parent_id text, child_id text, root_path text, context text)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    RETURN QUERY
    SELECT s.seq, s.parent_id, s.child_id, s.root_path, s.context
    FROM @extschema@.spawns s
    ORDER BY s.seq
    LIMIT p_limit;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_pending_spawns(integer)
IS 'The child executions waiting to be created, oldest first, at most p_limit (NULL: all). Raises ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_pending_spawns(integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_ack_spawn(p_seq bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_count integer;
BEGIN
    IF p_seq IS NULL THEN
        PERFORM @extschema@.harel__refuse_seq();
    END IF;
    DELETE FROM @extschema@.spawns s WHERE s.seq = p_seq;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_ack_spawn(bigint)
IS
'Removes the request for a child that has been created; returns 1, or 0 where it was not pending. Raises ST001 '
'for NULL.';
REVOKE ALL ON FUNCTION @extschema@.harel_ack_spawn(bigint) FROM PUBLIC;
CREATE FUNCTION @extschema@.harel_due_timers(p_now double precision, p_limit integer DEFAULT NULL)
RETURNS TABLE (execution_id text, path text, fire_at double precision)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF p_now IS NULL OR p_now = 'NaN' THEN
        PERFORM @extschema@.harel__refuse_time('The time to look up due timers for', p_now);
    END IF;
    RETURN QUERY
    SELECT t.execution_id, t.path, t.fire_at
    FROM @extschema@.timers t
    WHERE t.fire_at <= p_now
    ORDER BY t.fire_at, t.execution_id, t.path
    LIMIT p_limit;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_due_timers(double precision, integer)
IS
'The timers due at p_now (seconds since the epoch, inclusive), oldest due first, at most p_limit (NULL: all). '
'Raises ST006 or ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_due_timers(double precision, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_delete_timer(p_id text, p_path text, p_fire_at double precision) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_count integer;
BEGIN
    IF p_id IS NULL THEN
        PERFORM @extschema@.harel__refuse_key(p_id, 'execution id', p_id);
    END IF;
    IF p_path IS NULL THEN
        PERFORM @extschema@.harel__refuse_key(p_id, 'timer path', p_path);
    END IF;
    IF p_fire_at IS NULL THEN
        PERFORM @extschema@.harel__refuse_time(format('Execution %L, timer %L', p_id, p_path), p_fire_at);
    END IF;
    DELETE FROM @extschema@.timers t
    WHERE t.execution_id = p_id AND t.path = p_path AND t.fire_at = p_fire_at;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_delete_timer(text, text, double precision)
IS
'Disarms a timer that has been handled, only while it is still due at p_fire_at: one re-scheduled meanwhile '
'stays. Returns 1, or 0 where none matched. Raises ST001 or ST006 for NULL.';
REVOKE ALL ON FUNCTION @extschema@.harel_delete_timer(text, text, double precision) FROM PUBLIC;
-- A cursor is the last id of a page, with a mark to know it by and a checksum against one cut short.
CREATE FUNCTION @extschema@.harel__cursor(p_id text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id bytea := convert_to(p_id, 'UTF8');
BEGIN
    RETURN replace(
        encode(decode('68317c', 'hex') || substr(sha256(v_id), 1, 4) || v_id, 'base64'), chr(10), ''
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel__cursor(text)
IS 'Internal. The cursor for the page after an id.';
REVOKE ALL ON FUNCTION @extschema@.harel__cursor(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__cursor_id(p_cursor text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id text;
BEGIN
    BEGIN
        v_id := convert_from(substr(decode(p_cursor, 'base64'), 8), 'UTF8');
    EXCEPTION WHEN data_exception THEN
        v_id := NULL;
    END;
    IF v_id IS NULL OR @extschema@.harel__cursor(v_id) <> p_cursor THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST007',
            MESSAGE = 'the cursor is not one of harel_list()',
            DETAIL = format('The cursor begins with %L.', left(p_cursor, 40)),
            HINT = 'Pass next_cursor of the page before as it came, or NULL for the first page.';
    END IF;
    RETURN v_id;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__cursor_id(text)
IS 'Internal. The id that a cursor stands for; raises ST007 for one that harel__cursor() did not make.';
REVOKE ALL ON FUNCTION @extschema@.harel__cursor_id(text) FROM PUBLIC;

-- A page is read in two steps: the ids that belong on it, from an index, and then their rows. Each pair of a status
-- and root or not is one range of the index in the order of the ids, of which no more than a page is read; the
-- ranges are merged. So a page costs the same at any depth, and what the filter leaves out costs nothing. Where no
-- status is asked for, those that occur are found by one descent of the index for each (a loose index scan).
CREATE FUNCTION @extschema@.harel_list(
    p_definition_id text DEFAULT NULL,
    p_statuses text[] DEFAULT NULL,
    p_roots_only boolean DEFAULT false,
    p_limit integer DEFAULT 100,
    p_cursor text DEFAULT NULL
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
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- No id is empty, so each one comes after the empty text.
    v_after text COLLATE "C" := '';
    v_fetch bigint := coalesce(p_limit, 100)::bigint + 1;
    v_statuses text[] := p_statuses;
    v_roots boolean[] := CASE WHEN p_roots_only THEN ARRAY[true] ELSE ARRAY[true, false] END;
    v_ids text[];
BEGIN
    IF p_limit < 1 THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST008',
            MESSAGE = 'the limit of a page must be at least 1',
            DETAIL = format('The limit is %s.', p_limit),
            HINT = 'Pass the greatest number of rows wanted on a page.';
    END IF;
    IF p_cursor IS NOT NULL THEN
        v_after := @extschema@.harel__cursor_id(p_cursor);
    END IF;

    IF p_definition_id IS NULL AND p_statuses IS NULL AND p_roots_only IS NOT TRUE THEN
        v_ids := ARRAY(
            SELECT e.id FROM @extschema@.executions e
            WHERE e.id > v_after
            ORDER BY e.id
            LIMIT v_fetch
        );
    ELSIF p_definition_id IS NULL THEN
        v_statuses := coalesce(v_statuses, ARRAY(
            WITH RECURSIVE found (status) AS (
                SELECT min(e.status) FROM @extschema@.executions e
                UNION ALL
                SELECT (
                    SELECT min(e.status) FROM @extschema@.executions e
                    WHERE e.status > f.status
                )
                FROM found f
                WHERE f.status IS NOT NULL
            )
            SELECT f.status FROM found f WHERE f.status IS NOT NULL
        ));
        v_ids := ARRAY(
            SELECT b.id
            FROM (SELECT DISTINCT unnest(v_statuses)) AS s (status)
            CROSS JOIN unnest(v_roots) AS r (is_root)
            CROSS JOIN LATERAL (
                SELECT e.id FROM @extschema@.executions e
                WHERE e.status = s.status AND (e.parent_id IS NULL) = r.is_root AND e.id > v_after
                ORDER BY e.id
                LIMIT v_fetch
            ) AS b
            ORDER BY b.id
            LIMIT v_fetch
        );
    ELSE
        -- Compared as a pair, so that no index but the one by definition can serve.
        v_statuses := coalesce(v_statuses, ARRAY(
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
            SELECT f.status FROM found f WHERE f.definition_id = p_definition_id
        ));
        v_ids := ARRAY(
            SELECT b.id
            FROM (SELECT DISTINCT unnest(v_statuses)) AS s (status)
            CROSS JOIN unnest(v_roots) AS r (is_root)
            CROSS JOIN LATERAL (
                SELECT e.id FROM @extschema@.executions e
                WHERE e.definition_id = p_definition_id
                    AND e.status = s.status AND (e.parent_id IS NULL) = r.is_root AND e.id > v_after
                ORDER BY e.id
                LIMIT v_fetch
            ) AS b
            ORDER BY b.id
            LIMIT v_fetch
        );
    END IF;

    RETURN QUERY
    SELECT
        e.id, e.definition_id, nullif(e.status, ''), e.outcome, e.active_path, e.version, e.parent_id,
        e.created_at, e.updated_at, e.finished_at,
        -- The last row of a page names the next one, if the id fetched beyond the page showed that there is one.
        CASE WHEN p.place = v_fetch - 1 AND cardinality(v_ids) = v_fetch THEN @extschema@.harel__cursor(e.id) END
    FROM unnest(v_ids[1:v_fetch - 1]) WITH ORDINALITY AS p (id, place)
    JOIN @extschema@.executions e ON e.id = p.id
    ORDER BY p.place;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_list(text, text[], boolean, integer, text)
IS
'A page of executions in the order of their ids (as bytes), without their data: those of one definition, in any '
'of some statuses, or roots only (NULL or false: no such filter). The last row''s next_cursor, if not NULL, brings '
'the next page. Pages neither repeat nor skip a row while others are inserted and deleted. Raises ST007 or ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_list(text, text[], boolean, integer, text) FROM PUBLIC;
CREATE FUNCTION @extschema@.harel_version() RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN '1.0';
END
$$;
COMMENT ON FUNCTION @extschema@.harel_version()
IS 'The version of this store, whether it was created as an extension or by the plain script.';
REVOKE ALL ON FUNCTION @extschema@.harel_version() FROM PUBLIC;
-- PUBLIC has nothing: each function revokes what PostgreSQL grants by default. Whoever creates the store owns it, may
-- do everything and lets others in.
CREATE FUNCTION @extschema@.harel_grant(p_role name, p_access text DEFAULT 'worker') RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_relation regclass;
    v_function regprocedure;
BEGIN
    IF p_access IS NULL OR p_access NOT IN ('worker', 'reader', 'none') THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST009',
            MESSAGE = 'unknown kind of access',
            DETAIL = format(
                'Role %s, access %s.',
                coalesce(quote_ident(p_role), 'NULL'), coalesce(quote_literal(p_access), 'NULL')
            ),
            HINT = 'Pass worker (loads, lists and commits), reader (loads and lists) or none.';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = p_role) THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST009',
            MESSAGE = 'the role does not exist',
            DETAIL = format('Role %s.', coalesce(quote_ident(p_role), 'NULL')),
            HINT = 'Create it first, with CREATE ROLE.';
    END IF;

    -- The functions run with the rights of their caller, who therefore needs the tables too.
    FOREACH v_relation IN ARRAY ARRAY[
        '@extschema@.executions', '@extschema@.outbox', '@extschema@.processed_events',
        '@extschema@.timers', '@extschema@.spawns', '@extschema@.trace'
    ]::regclass[] LOOP
        EXECUTE format('REVOKE ALL ON %s FROM %I', v_relation, p_role);
        IF p_access = 'worker' THEN
            EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I', v_relation, p_role);
        ELSIF p_access = 'reader' THEN
            EXECUTE format('GRANT SELECT ON %s TO %I', v_relation, p_role);
        END IF;
    END LOOP;
    FOREACH v_relation IN ARRAY ARRAY['@extschema@.outbox_seq_seq', '@extschema@.spawns_seq_seq']::regclass[] LOOP
        EXECUTE format('REVOKE ALL ON SEQUENCE %s FROM %I', v_relation, p_role);
        IF p_access = 'worker' THEN
            EXECUTE format('GRANT USAGE ON SEQUENCE %s TO %I', v_relation, p_role);
        END IF;
    END LOOP;
    IF p_access <> 'none' THEN
        EXECUTE format('GRANT USAGE ON SCHEMA %s TO %I', '@extschema@'::regnamespace, p_role);
    END IF;

    -- A reader may call what does not write, which the catalog says of each function.
    FOR v_function IN
        SELECT p.oid::regprocedure
        FROM pg_proc p
        WHERE p.pronamespace = '@extschema@'::regnamespace
            AND pg_catalog.starts_with(p.proname, 'harel_')
            AND p.proname <> 'harel_grant'
    LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM %I', v_function, p_role);
        IF p_access = 'worker' OR p_access = 'reader' AND (
            SELECT p.provolatile <> 'v' FROM pg_proc p WHERE p.oid = v_function
        ) THEN
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', v_function, p_role);
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_grant(name, text)
IS
'Gives a role exactly this access to the store: worker (loads, lists and commits), reader (loads and lists) or '
'none. Raises ST009.';
REVOKE ALL ON FUNCTION @extschema@.harel_grant(name, text) FROM PUBLIC;
-- pg_dump takes the rows of an extension's tables only where they are registered. As a plain script the store belongs
-- to no extension and is dumped as it is: then there is nothing to register.
DO $$
DECLARE
    v_relation regclass;
BEGIN
    FOR v_relation IN
        SELECT d.objid
        FROM pg_catalog.pg_extension e
        JOIN pg_catalog.pg_depend d
            ON d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.refobjid = e.oid AND d.deptype = 'e'
        JOIN pg_catalog.pg_class c
            ON d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND c.oid = d.objid
        WHERE e.extname = 'harel'
            AND c.relnamespace = '@extschema@'::pg_catalog.regnamespace
            AND c.relkind IN ('r', 'S')
        ORDER BY d.objid
    LOOP
        PERFORM pg_catalog.pg_extension_config_dump(v_relation, '');
    END LOOP;
END
$$;
