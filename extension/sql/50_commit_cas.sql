-- jsonb cannot hold everything that JSON allows: a \u0000, half of a surrogate pair, a number like 1e999999, tens of
-- millions of elements (for which it asks for more memory than there can be, an internal error). Such texts are stored
-- like any other; only the fields broken out of them have to be read in another way. The type json checks the grammar
-- without evaluating numbers, but decodes each escape, so those that PostgreSQL has no character for are replaced by
-- U+FFFD in a copy, and in a database of another encoding than UTF8 by a question mark.
CREATE FUNCTION @extschema@.harel__decodable(p_data text) RETURNS json
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
    -- A pair of backslashes becomes the escape of one, so that the backslash of any other escape stands alone.
    v_copy text := replace(p_data, '\\', '\u005c');
BEGIN
    v_copy := replace(v_copy, '\u0000', '\ufffd');
    -- Searched for first: on large data the expressions take a hundred times as long.
    IF strpos(v_copy, '\ud') > 0 OR strpos(v_copy, '\uD') > 0 THEN
        v_copy := regexp_replace(
            v_copy, '\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})', '\\ufffd', 'g'
        );
        v_copy := regexp_replace(
            v_copy, '(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}', '\\ufffd', 'g'
        );
    END IF;
    IF getdatabaseencoding() <> 'UTF8' THEN
        v_copy := regexp_replace(v_copy, '\\u(?!00[0-7])[0-9a-fA-F]{4}', '?', 'g');
    END IF;
    RETURN v_copy::json;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__decodable(text)
IS 'Internal. A JSON text with another character for each escape that this database has none for.';
REVOKE ALL ON FUNCTION @extschema@.harel__decodable(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__fields(p_id text, p_data text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
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
    BEGIN
        v_json := @extschema@.harel__decodable(p_data);
        RETURN jsonb_build_object(
            'status', v_json ->> 'status',
            'outcome', v_json ->> 'outcome',
            'active_path', v_json ->> 'active_path',
            'parent_id', v_json ->> 'parent_id',
            'priority', v_json ->> 'priority',
            'finished_at', CASE
                WHEN json_typeof(v_json -> 'finished_at') = 'number'
                    AND v_json ->> 'finished_at' ~* '^-?[0-9.]{1,40}(e[+-]?[0-9]{1,2})?$'
                    THEN (v_json ->> 'finished_at')::numeric
            END
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

CREATE FUNCTION @extschema@.harel__finished_at(p_fields jsonb) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Within the years that a timestamp can hold.
    IF jsonb_typeof(p_fields -> 'finished_at') = 'number'
        AND abs((p_fields ->> 'finished_at')::numeric) < 200000000000
    THEN
        RETURN to_timestamp(round((p_fields ->> 'finished_at')::numeric, 6)::double precision);
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__finished_at(jsonb)
IS 'Internal. The time, in seconds since the epoch, that data gives for its end; NULL where it gives none.';
REVOKE ALL ON FUNCTION @extschema@.harel__finished_at(jsonb) FROM PUBLIC;

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
    p_id text, p_defn text, p_data text, p_old bigint, p_event text, p_commit_id uuid DEFAULT NULL
) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
DECLARE
    v_json jsonb;
    v_status text;
    v_priority smallint := 0;
    v_finished_at timestamptz;
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
    EXCEPTION WHEN data_exception OR program_limit_exceeded OR feature_not_supported OR internal_error THEN
        v_json := @extschema@.harel__fields(p_id, p_data);
    END;

    v_status := coalesce(left(v_json ->> 'status', 100), '');
    -- Most have neither, and an expression in the statements below is set up at every commit, whether it is reached or
    -- not.
    IF v_json ? 'priority' AND v_json ->> 'priority' IN ('1', '2', '3', '4') THEN
        v_priority := v_json ->> 'priority';
    END IF;
    IF v_status IN ('DONE', 'CANCELLED', 'FAILED') THEN
        v_finished_at := coalesce(
            @extschema@.harel__finished_at(v_json),
            -- Saved again, it has been final since then.
            (SELECT e.finished_at FROM @extschema@.executions e WHERE e.id = p_id AND e.version = p_old),
            now()
        );
    END IF;

    IF p_old = 0 THEN
        IF (octet_length(p_id) BETWEEN 1 AND 1000) IS NOT TRUE THEN
            PERFORM @extschema@.harel__refuse_key(p_id, 'execution id', p_id);
        END IF;
        INSERT INTO @extschema@.executions AS e (
            id, definition_id, data, version, status, outcome, active_path, parent_id, priority, finished_at,
            commit_id
        ) VALUES (
            p_id, p_defn, p_data, 1, v_status,
            v_json ->> 'outcome', v_json ->> 'active_path', v_json ->> 'parent_id', v_priority, v_finished_at,
            p_commit_id
        )
        ON CONFLICT (id) DO NOTHING;
        -- Behind the lock that the INSERT takes on the table: see harel_join_shards(). The register is a tenth of the
        -- price of a look into the table of shards.
        IF FOUND AND pg_sequence_last_value('@extschema@.shards_joined') IS NOT NULL THEN
            PERFORM @extschema@.harel__refuse_elsewhere(ARRAY[p_id]);
        END IF;
    ELSE
        UPDATE @extschema@.executions AS e
        SET definition_id = p_defn,
            data = p_data,
            version = p_old + 1,
            status = v_status,
            outcome = v_json ->> 'outcome',
            active_path = v_json ->> 'active_path',
            parent_id = v_json ->> 'parent_id',
            priority = v_priority,
            updated_at = now(),
            finished_at = v_finished_at,
            commit_id = p_commit_id
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
COMMENT ON FUNCTION @extschema@.harel__swap(text, text, text, bigint, text, uuid)
IS 'Internal. harel_commit_cas() without its answer to a serialization failure.';
REVOKE ALL ON FUNCTION @extschema@.harel__swap(text, text, text, bigint, text, uuid) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_commit_cas(
    p_id text,
    p_defn text,
    p_data text,
    p_old bigint,
    p_event text DEFAULT NULL,
    p_commit_id uuid DEFAULT NULL
) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
BEGIN
    -- Under READ COMMITTED a lost race matches no row. Under a stricter level PostgreSQL raises instead, and only there
    -- is a subtransaction, which spends a transaction id, worth its price.
    IF current_setting('transaction_isolation') = 'read committed' THEN
        RETURN @extschema@.harel__swap(p_id, p_defn, p_data, p_old, p_event, p_commit_id);
    END IF;
    BEGIN
        RETURN @extschema@.harel__swap(p_id, p_defn, p_data, p_old, p_event, p_commit_id);
    EXCEPTION WHEN serialization_failure THEN
        RETURN false;
    END;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_commit_cas(text, text, text, bigint, text, uuid)
IS
'Commits the next state of an execution if its version is still p_old (0: if it does not exist yet), and marks the '
'event p_event (unless NULL or empty) as processed. Returns whether it did; false is a lost race, and nothing was '
'written. By p_commit_id, a random one for each commit, harel_outcome() knows it again. Raises ST001, ST002 or ST003 '
'for arguments that no execution can have.';
REVOKE ALL ON FUNCTION @extschema@.harel_commit_cas(text, text, text, bigint, text, uuid) FROM PUBLIC;
