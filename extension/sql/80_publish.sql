-- The plans of the queue must not depend on what the statistics say of tables that are empty in one minute and hold a
-- million rows in the next: its functions forbid what would read a whole table, like those of 40_load.sql, and keep
-- the plan. Joined to a table that looks empty, a whole index seems as cheap as one of its rows; LATERAL with OFFSET 0,
-- or a scalar subquery, leaves only the search by the key.
--
-- What is forbidden costs so much, where nothing else can be done, that PostgreSQL before 18 would compile the plan for
-- it at every call (JIT), which takes a hundred times as long as to carry it out: who forbids something forbids that
-- too, but for the functions that only ever look up a row by its key.

CREATE FUNCTION @extschema@.harel_channel() RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN 'harel_' || '@extschema@'::regnamespace::oid;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_channel()
IS 'The channel on which LISTEN tells a worker, that harel_next() has announced to be asleep, of a message.';
REVOKE ALL ON FUNCTION @extschema@.harel_channel() FROM PUBLIC;

-- A notification in every commit would make commits take turns: there is one only while somebody may be asleep.
CREATE FUNCTION @extschema@.harel__wake() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_is_part boolean := false;
BEGIN
    -- To read it as a table would be to plan and carry out a query.
    IF pg_sequence_last_value('@extschema@.transport_asleep_until') > extract(epoch FROM clock_timestamp()) * 1000000 THEN
        IF starts_with(current_setting('application_name'), 'citus_internal') AND @extschema@.harel__is_distributed() THEN
            EXECUTE 'SELECT t.transaction_number > 0 FROM get_current_transaction_id() t' INTO v_is_part;
        END IF;
        -- No transaction that has notified can be prepared, as the part of one over several nodes is in its end.
        IF v_is_part IS NOT TRUE THEN
            PERFORM pg_notify(@extschema@.harel_channel(), '');
        END IF;
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__wake()
IS
'Internal. Notifies the workers of a message that can be claimed, if one may be asleep. In the part that another node '
'of a cluster has in a transaction nothing is done: whoever began it calls this too.';
REVOKE ALL ON FUNCTION @extschema@.harel__wake() FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__check_message(p_group_id text, p_event text, p_priority integer) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF (octet_length(p_group_id) BETWEEN 1 AND 1000) IS NOT TRUE THEN
        PERFORM @extschema@.harel__refuse_key(p_group_id, 'group id', p_group_id);
    END IF;
    PERFORM @extschema@.harel__check_priority(p_group_id, p_priority);
    IF p_event IS NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST003',
            MESSAGE = 'an event must not be NULL',
            DETAIL = format('Group %L.', left(p_group_id, 40)),
            HINT = 'Pass the event as a text, for instance JSON.';
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__check_message(text, text, integer)
IS 'Internal. Raises ST001, ST003 or ST010 for a message that cannot be published.';
REVOKE ALL ON FUNCTION @extschema@.harel__check_message(text, text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_publish(
    p_group_id text,
    p_event text,
    p_priority integer DEFAULT 0,
    p_now double precision DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_seq bigint := extract(epoch FROM clock_timestamp()) * 1000000;
    v_first boolean;
BEGIN
    IF p_event IS NULL
        OR (p_priority BETWEEN 0 AND 4) IS NOT TRUE
        OR (octet_length(p_group_id) BETWEEN 1 AND 1000) IS NOT TRUE
    THEN
        PERFORM @extschema@.harel__check_message(p_group_id, p_event, p_priority);
    END IF;
    -- The group first: whoever settles its last message at this moment is waited for, or waits.
    INSERT INTO @extschema@.transport_groups AS g (group_id, available_at, head, tail, priority)
    VALUES (p_group_id, v_now, v_seq, v_seq, p_priority)
    ON CONFLICT (group_id) DO UPDATE SET tail = g.tail + 1
    RETURNING g.tail, g.head = g.tail INTO v_seq, v_first;
    INSERT INTO @extschema@.transport_messages (group_id, seq, event)
    VALUES (p_group_id, v_seq, p_event);
    IF v_first THEN
        -- A group that was there belongs here. See harel__swap().
        IF pg_sequence_last_value('@extschema@.shards_joined') IS NOT NULL THEN
            PERFORM @extschema@.harel__refuse_elsewhere(ARRAY[p_group_id]);
        END IF;
        PERFORM @extschema@.harel__wake();
    END IF;
    RETURN v_seq;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_publish(text, text, integer, double precision)
IS
'Puts a message at the end of a group, the id of the execution that it is for, and returns its number there. The '
'priority (0 to 4) counts for the first message of a group, and until it is drained. p_now is the time in seconds '
'since the epoch, for simulations; NULL is the clock of the database. Raises ST001, ST003, ST006 or ST010, and ST018 '
'for an execution of another shard.';
REVOKE ALL ON FUNCTION @extschema@.harel_publish(text, text, integer, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__lock_groups(p_group_ids text[]) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
    PERFORM FROM @extschema@.transport_groups g
    WHERE g.group_id = ANY (p_group_ids)
    ORDER BY g.group_id
    FOR UPDATE;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__lock_groups(text[])
IS 'Internal. Locks those of the groups that exist, in the order of their ids.';
REVOKE ALL ON FUNCTION @extschema@.harel__lock_groups(text[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__enqueue(
    p_group_ids text[], p_events text[], p_priorities integer[], p_now double precision
) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
DECLARE
    v_base bigint := extract(epoch FROM clock_timestamp()) * 1000000;
BEGIN
    -- In the order of the ids, so that two that publish to the same groups cannot wait for each other in a circle.
    WITH given AS (
        SELECT
            m.group_id COLLATE "C" AS group_id,
            m.event,
            m.priority,
            row_number() OVER (PARTITION BY m.group_id COLLATE "C" ORDER BY m.place) AS nth,
            count(*) OVER (PARTITION BY m.group_id COLLATE "C") AS total
        FROM unnest(p_group_ids, p_events, p_priorities) WITH ORDINALITY AS m (group_id, event, priority, place)
    ), groups AS (
        INSERT INTO @extschema@.transport_groups AS g (group_id, available_at, head, tail, priority)
        SELECT
            m.group_id, p_now, v_base, v_base + m.total - 1,
            coalesce(m.priority, (SELECT e.priority FROM @extschema@.executions e WHERE e.id = m.group_id), 0)
        FROM given m
        WHERE m.nth = 1
        ORDER BY m.group_id
        ON CONFLICT (group_id) DO UPDATE SET tail = g.tail + 1 + excluded.tail - excluded.head
        RETURNING g.group_id, g.tail
    )
    INSERT INTO @extschema@.transport_messages (group_id, seq, event)
    SELECT m.group_id, g.tail - m.total + m.nth, m.event
    FROM given m
    JOIN groups g ON g.group_id = m.group_id
    ORDER BY m.group_id, m.nth;
    PERFORM @extschema@.harel__wake();
END
$$;
COMMENT ON FUNCTION @extschema@.harel__enqueue(text[], text[], integer[], double precision)
IS
'Internal. Puts each event at the end of its group, in the order given; a priority that is missing is that of the '
'execution.';
REVOKE ALL ON FUNCTION @extschema@.harel__enqueue(text[], text[], integer[], double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_publish_many(
    p_group_ids text[],
    p_events text[],
    p_priorities integer[] DEFAULT NULL,
    p_now double precision DEFAULT NULL
) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_count integer := coalesce(cardinality(p_group_ids), 0);
    v_priorities integer[] := coalesce(nullif(p_priorities, '{}'), array_fill(0, ARRAY[v_count]));
BEGIN
    PERFORM @extschema@.harel__check_list(
        NULL, 'the messages', array_dims(p_group_ids), array_dims(p_events),
        coalesce(array_dims(p_priorities), array_dims(p_group_ids))
    );
    FOR i IN 1 .. v_count LOOP
        IF p_events[i] IS NULL
            OR (v_priorities[i] BETWEEN 0 AND 4) IS NOT TRUE
            OR (octet_length(p_group_ids[i]) BETWEEN 1 AND 1000) IS NOT TRUE
        THEN
            PERFORM @extschema@.harel__check_message(p_group_ids[i], p_events[i], v_priorities[i]);
        END IF;
    END LOOP;
    IF v_count > 0 AND @extschema@.harel__is_distributed() THEN
        PERFORM @extschema@.harel__everywhere_publish(p_group_ids, p_events, v_priorities, v_now);
    ELSIF v_count > 0 THEN
        -- The groups that exist before those that are made here, as in harel_finish().
        PERFORM @extschema@.harel__lock_groups(p_group_ids);
        PERFORM @extschema@.harel__enqueue(p_group_ids, p_events, v_priorities, v_now);
        IF pg_sequence_last_value('@extschema@.shards_joined') IS NOT NULL THEN
            PERFORM @extschema@.harel__refuse_elsewhere(p_group_ids);
        END IF;
    END IF;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_publish_many(text[], text[], integer[], double precision)
IS
'Many messages in one call, each as by harel_publish() (no priorities: all 0), those of one group in the order given; '
'returns how many. Groups are locked in the order of their ids, so that two such calls cannot deadlock. Raises ST001, '
'ST003, ST004, ST006, ST010 or ST018, and then none is published.';
REVOKE ALL ON FUNCTION @extschema@.harel_publish_many(text[], text[], integer[], double precision) FROM PUBLIC;
