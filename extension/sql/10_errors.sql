-- Mistakes of a caller that more than one function meets. The codes of class ST:
--
--   ST001  an id, path or other key is missing, empty or too long
--   ST002  a version, a trace cap, or the number of a trace entry, is out of range
--   ST003  the data of an execution is missing or not JSON, or a text that goes with it is missing
--   ST004  parallel arrays of unequal length or shape, or with a NULL where a value is needed
--   ST005  an unknown timer action
--   ST006  a time that is missing, NaN or infinite
--   ST007  a cursor that harel_list() did not make
--   ST008  a limit that is out of range
--   ST009  an unknown role or kind of access
--   ST010  a priority that is out of range
--   ST011  a duration that is missing, negative, NaN or beyond 1e300 seconds
--   ST012  a value that its type does not hold: raised by clients, for what reaches no function
--   ST013  a function to archive executions that does not take what it is given
--   ST014  tables that harel_adopt() cannot take over
--   ST015  an unknown state of a group in the queue
--   ST016  shards that are not those that the store knows, or cannot be
--   ST017  a store that harel_distribute() cannot spread
--   ST018  an execution that belongs to another shard

-- Keys of 1000 bytes keep every index entry under a third of a page, the most that a B-tree takes.
CREATE FUNCTION @extschema@.harel__refuse_key(p_id text, p_what text, p_key text) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = 'ST001',
        MESSAGE = format('the %s must be a text of 1 to 1000 bytes', p_what),
        DETAIL = coalesce('Execution ' || quote_literal(left(p_id, 40)) || ': the ', 'The ') || p_what || CASE
            WHEN p_key IS NULL THEN ' is NULL.'
            ELSE format(' has %s bytes and begins with %L.', octet_length(p_key), left(p_key, 40))
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

CREATE FUNCTION @extschema@.harel__check_duration(p_what text, p_seconds double precision) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF (p_seconds BETWEEN 0 AND 1e300) IS NOT TRUE THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST011',
            MESSAGE = format('the %s must be a number of seconds from 0 to 1e300', p_what),
            DETAIL = format('The %s is %s.', p_what, coalesce(p_seconds::text, 'NULL')),
            HINT = 'Pass a duration in seconds, for instance 30.';
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__check_duration(text, double precision)
IS 'Internal. Raises ST011 for a duration that is missing, negative, NaN or too long.';
REVOKE ALL ON FUNCTION @extschema@.harel__check_duration(text, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__check_priority(p_group_id text, p_priority integer) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF (p_priority BETWEEN 0 AND 4) IS NOT TRUE THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST010',
            MESSAGE = 'a priority must be between 0 and 4',
            DETAIL = format('%s: the priority is %s.',
                coalesce('Group ' || quote_literal(left(p_group_id, 40)), 'A claim'), coalesce(p_priority::text, 'NULL')),
            HINT = 'Pass 0 for what is usual and up to 4 for what is more urgent.';
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__check_priority(text, integer)
IS 'Internal. Raises ST010 for a priority that is out of range.';
REVOKE ALL ON FUNCTION @extschema@.harel__check_priority(text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__clock(p_now double precision) RETURNS double precision
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_now IS NULL THEN
        RETURN extract(epoch FROM clock_timestamp());
    END IF;
    -- A duration can be added without leaving the range of the type.
    IF abs(p_now) <= 1.7e308 THEN
        RETURN p_now;
    END IF;
    PERFORM @extschema@.harel__refuse_time('The clock of a call', p_now);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__clock(double precision)
IS 'Internal. The time of a call in seconds since the epoch: the one given, or that of the database. Raises ST006.';
REVOKE ALL ON FUNCTION @extschema@.harel__clock(double precision) FROM PUBLIC;
