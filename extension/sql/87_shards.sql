-- A store may be one of several, each in a database of its own, that share the executions among them: shards. Every
-- shard knows the names of all and which one it is itself. The names decide who owns an execution, by rendezvous
-- hashing, and so the map is written once and never changed. What a step causes for an execution of another shard waits
-- in the outbox and in the spawns until a program that has a connection to both moves it, by the functions below.

CREATE FUNCTION @extschema@.harel__owner(p_names text[], p_id text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- Bytes of UTF-8, as clients hash them, whatever the encoding of the database. SQL_ASCII has bytes that are none.
    v_encoding name := CASE getdatabaseencoding() WHEN 'SQL_ASCII' THEN 'SQL_ASCII' ELSE 'UTF8' END;
    v_id bytea := decode('00', 'hex') || convert_to(p_id, v_encoding);
    v_hash bytea;
    v_greatest bytea;
    v_owner text;
BEGIN
    IF p_id IS NULL THEN
        RETURN NULL;
    END IF;
    FOR i IN 1 .. coalesce(cardinality(p_names), 0) LOOP
        v_hash := sha256(convert_to(p_names[i], v_encoding) || v_id);
        IF v_greatest IS NULL OR v_hash > v_greatest THEN
            v_greatest := v_hash;
            v_owner := p_names[i];
        END IF;
    END LOOP;
    RETURN v_owner;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__owner(text[], text)
IS
'Internal. Of these shards the one that owns an id: that with the greatest SHA-256 of its name, a zero byte and the '
'id.';
REVOKE ALL ON FUNCTION @extschema@.harel__owner(text[], text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__elsewhere(p_ids text[]) RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_names text[];
    v_here text;
    v_owners text[] := '{}';
BEGIN
    SELECT array_agg(s.name), min(s.name) FILTER (WHERE s.is_here)
    INTO v_names, v_here
    FROM @extschema@.shards s
    WHERE s.joined_at IS NOT NULL;
    FOR i IN 1 .. coalesce(cardinality(p_ids), 0) LOOP
        v_owners[i] := nullif(@extschema@.harel__owner(v_names, p_ids[i]), v_here);
    END LOOP;
    RETURN v_owners;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__elsewhere(text[])
IS 'Internal. For each id the other shard that owns it; NULL where this one does, or where the store is no shard.';
REVOKE ALL ON FUNCTION @extschema@.harel__elsewhere(text[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__refuse_elsewhere(p_ids text[]) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_owners text[] := @extschema@.harel__elsewhere(p_ids);
BEGIN
    FOR i IN 1 .. cardinality(v_owners) LOOP
        IF v_owners[i] IS NOT NULL THEN
            RAISE EXCEPTION USING
                ERRCODE = 'ST018',
                MESSAGE = 'the execution belongs to another shard',
                DETAIL = format(
                    'Execution %L belongs to shard %L, and this is %L.', left(p_ids[i], 40), v_owners[i],
                    (SELECT s.name FROM @extschema@.shards s WHERE s.is_here)
                ),
                HINT = 'Call that shard; harel_shard_of() tells which one it is, and ShardedStore goes there by itself.';
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__refuse_elsewhere(text[])
IS 'Internal. Raises ST018 where another shard owns one of these ids.';
REVOKE ALL ON FUNCTION @extschema@.harel__refuse_elsewhere(text[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_shards() RETURNS TABLE (name text, is_here boolean)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT s.name, s.is_here FROM @extschema@.shards s
    WHERE s.joined_at IS NOT NULL
    ORDER BY s.name;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_shards()
IS 'The shards that this store is one of, in the order of their names, and which one it is; none where it is no shard.';
REVOKE ALL ON FUNCTION @extschema@.harel_shards() FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_shard_of(p_id text) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_id IS NULL THEN
        PERFORM @extschema@.harel__refuse_key(p_id, 'execution id', p_id);
    END IF;
    RETURN @extschema@.harel__owner(
        ARRAY(SELECT s.name FROM @extschema@.shards s WHERE s.joined_at IS NOT NULL), p_id
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel_shard_of(text)
IS
'The name of the shard that owns an execution, whether or not it exists: that with the greatest SHA-256 of its name, '
'a zero byte and the id, in UTF-8; NULL where the store is no shard. Raises ST001 for NULL.';
REVOKE ALL ON FUNCTION @extschema@.harel_shard_of(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_name_shard(p_name text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_here record;
BEGIN
    IF octet_length(p_name) NOT BETWEEN 1 AND 1000 THEN
        PERFORM @extschema@.harel__refuse_key(NULL, 'name of a shard', p_name);
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('harel.shards:@extschema@', 0));
    SELECT s.name, s.joined_at INTO v_here FROM @extschema@.shards s WHERE s.is_here;
    IF v_here.name IS NULL THEN
        INSERT INTO @extschema@.shards (name, is_here)
        VALUES (coalesce(p_name, replace(gen_random_uuid()::text, '-', '')), true)
        RETURNING name INTO v_here.name;
    ELSIF v_here.joined_at IS NULL AND p_name <> v_here.name THEN
        UPDATE @extschema@.shards s SET name = p_name WHERE s.is_here;
        RETURN p_name;
    END IF;
    RETURN v_here.name;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_name_shard(text)
IS
'The name of this store among the shards that it is going to join: the one that it has, or else p_name (NULL: a random '
'one). Until harel_join_shards() it can be given another one. Raises ST001 for a name that is empty or too long.';
REVOKE ALL ON FUNCTION @extschema@.harel_name_shard(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__refuse_shards(p_detail text) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = 'ST016',
        MESSAGE = 'the shards are others than those that this store knows',
        DETAIL = p_detail,
        HINT = 'Name the same shards in each call: harel_shards() has them. Their number is chosen once, at the start.';
END
$$;
COMMENT ON FUNCTION @extschema@.harel__refuse_shards(text)
IS 'Internal. Raises ST016, for a map of shards that cannot be, or is not that of this store.';
REVOKE ALL ON FUNCTION @extschema@.harel__refuse_shards(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_join_shards(p_names text[], p_name text) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_names text[] := ARRAY(SELECT n.name COLLATE "C" FROM unnest(p_names) AS n (name) ORDER BY 1);
    v_stored text[];
    v_here text;
    v_foreign text;
BEGIN
    FOR i IN 1 .. cardinality(v_names) LOOP
        IF (octet_length(v_names[i]) BETWEEN 1 AND 1000) IS NOT TRUE THEN
            PERFORM @extschema@.harel__refuse_key(NULL, 'name of a shard', v_names[i]);
        ELSIF v_names[i] = v_names[i + 1] THEN
            PERFORM @extschema@.harel__refuse_shards(format('There are two by the name %L.', left(v_names[i], 40)));
        END IF;
    END LOOP;
    IF (p_name = ANY (v_names)) IS NOT TRUE THEN
        PERFORM @extschema@.harel__refuse_shards(format(
            'This one, %s, is not one of %s.', coalesce(quote_literal(left(p_name, 40)), 'NULL'), v_names
        ));
    END IF;
    IF @extschema@.harel__is_distributed() THEN
        PERFORM @extschema@.harel__refuse_shards('This store is spread over a Citus cluster.');
    END IF;

    -- One after another: of two with different names, the second finds those of the first.
    PERFORM pg_advisory_xact_lock(hashtextextended('harel.shards:@extschema@', 0));
    SELECT array_agg(s.name ORDER BY s.name), min(s.name) FILTER (WHERE s.is_here)
    INTO v_stored, v_here
    FROM @extschema@.shards s
    WHERE s.joined_at IS NOT NULL;
    IF v_stored IS NOT NULL THEN
        IF v_stored <> v_names OR v_here <> p_name THEN
            PERFORM @extschema@.harel__refuse_shards(format(
                'It is %L of %s, and asked for is %L of %s.', v_here, v_stored, p_name, v_names
            ));
        END IF;
        RETURN false;
    END IF;

    -- Commits look for shards once they have locked one of these tables: each has either been seen here or sees the
    -- map.
    LOCK TABLE @extschema@.executions IN EXCLUSIVE MODE;
    LOCK TABLE @extschema@.outbox IN EXCLUSIVE MODE;
    LOCK TABLE @extschema@.spawns IN EXCLUSIVE MODE;
    LOCK TABLE @extschema@.transport_groups IN EXCLUSIVE MODE;
    v_foreign := (
        SELECT i.id FROM (
            SELECT e.id FROM @extschema@.executions e
            UNION ALL
            SELECT g.group_id FROM @extschema@.transport_groups g
        ) i
        WHERE @extschema@.harel__owner(v_names, i.id) <> p_name
        LIMIT 1
    );
    IF v_foreign IS NOT NULL THEN
        PERFORM @extschema@.harel__refuse_shards(format(
            'Execution %L is in this store and would belong to %L.',
            left(v_foreign, 40), @extschema@.harel__owner(v_names, v_foreign)
        ));
    END IF;
    PERFORM setval('@extschema@.shards_joined', 1);
    PERFORM @extschema@.harel_name_shard(p_name);
    UPDATE @extschema@.shards s SET joined_at = now() WHERE s.is_here;
    INSERT INTO @extschema@.shards (name, is_here, joined_at)
    SELECT n.name, false, now() FROM unnest(v_names) AS n (name) WHERE n.name <> p_name;
    UPDATE @extschema@.outbox o
    SET shard = @extschema@.harel__owner(v_names, o.target_id)
    WHERE o.target_id IS NOT NULL AND @extschema@.harel__owner(v_names, o.target_id) <> p_name;
    UPDATE @extschema@.spawns s
    SET shard = @extschema@.harel__owner(v_names, s.child_id)
    WHERE @extschema@.harel__owner(v_names, s.child_id) <> p_name;
    RETURN true;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_join_shards(text[], text)
IS
'Makes this store the shard p_name of the shards p_names, for good: from now on it takes only the executions that '
'harel_shard_of() gives it. Returns false where it is that already. Raises ST016 where it is another one or one of '
'others, where a name is there twice or p_name is not, and where the store holds an execution that would belong to '
'another shard; and ST001 for a name that is missing, empty or too long.';
REVOKE ALL ON FUNCTION @extschema@.harel_join_shards(text[], text) FROM PUBLIC;

-- From shard to shard. A program reads what waits here for another shard, hands it in there, and settles here what was
-- taken there. It may die at any point and there may be several: the receiving shard keeps a receipt of each.

CREATE FUNCTION @extschema@.harel_waiting_shards() RETURNS SETOF text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
    -- A store that is spread over a cluster is none of several shards.
    IF @extschema@.harel__is_distributed() THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT s.name FROM @extschema@.shards s
    WHERE s.joined_at IS NOT NULL
        AND NOT s.is_here
        AND (
            EXISTS (
                SELECT FROM @extschema@.outbox o
                WHERE o.shard = s.name AND octet_length(o.target_id) >= 0
                OFFSET 0
            )
            OR EXISTS (SELECT FROM @extschema@.spawns w WHERE w.shard = s.name OFFSET 0)
        )
    ORDER BY s.name;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_waiting_shards()
IS 'The names of the other shards for which something waits here, in their order.';
REVOKE ALL ON FUNCTION @extschema@.harel_waiting_shards() FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_foreign_outbox(
    p_shard text, p_limit integer DEFAULT 1000, p_without text[] DEFAULT NULL
) RETURNS TABLE (seq bigint, target_id text, event text, source_id text)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    RETURN QUERY
    SELECT o.seq, o.target_id, o.event, o.source_id
    FROM @extschema@.outbox o
    WHERE o.shard = p_shard
        AND octet_length(o.target_id) >= 0
        AND o.target_id <> ALL (coalesce(p_without, '{}'))
        -- It would come before the child that it is for.
        AND NOT EXISTS (SELECT FROM @extschema@.spawns s WHERE s.child_id = o.target_id OFFSET 0)
    ORDER BY o.seq
    LIMIT p_limit;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_foreign_outbox(text, integer, text[])
IS
'The events that wait here for executions of another shard, oldest first, at most p_limit (NULL: all), to be handed to '
'harel_receive_events() there; without those for the executions p_without, and for children that are yet to be '
'created. So that an event finds its child, what harel_foreign_spawns() returns afterwards, on each shard, is to be '
'handed in before. Raises ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_foreign_outbox(text, integer, text[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_foreign_spawns(p_shard text, p_limit integer DEFAULT 1000)
RETURNS TABLE (
    seq bigint, parent_id text, child_id text, root_path text, context text,
    definition_id text, priority integer, status text
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    RETURN QUERY
    SELECT
        s.seq, s.parent_id, s.child_id, s.root_path, s.context, e.definition_id, e.priority::integer, e.status
    FROM @extschema@.spawns s
    CROSS JOIN LATERAL (
        SELECT e.definition_id, e.priority, e.status FROM @extschema@.executions e
        WHERE e.id = s.parent_id
        OFFSET 0
    ) e
    WHERE s.shard = p_shard
        -- As for harel_relay_spawns(): nothing can be made of it, and it must not stop the others.
        AND @extschema@.harel__is_json(s.context)
    ORDER BY s.seq
    LIMIT p_limit;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_foreign_spawns(text, integer)
IS
'The children that are to be created on another shard, oldest first, at most p_limit (NULL: all), each with the '
'definition, the priority and the status of its parent, to be handed to harel_receive_spawns() there. One whose '
'context is not JSON stays for harel_pending_spawns(). Raises ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_foreign_spawns(text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__check_sender(p_from text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM @extschema@.shards s WHERE s.name = p_from AND s.joined_at IS NOT NULL AND NOT s.is_here
    ) THEN
        PERFORM @extschema@.harel__refuse_shards(format(
            'There is no other shard %s beside this one.', coalesce(quote_literal(left(p_from, 40)), 'NULL')
        ));
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__check_sender(text)
IS 'Internal. Raises ST016 unless this is the name of another shard.';
REVOKE ALL ON FUNCTION @extschema@.harel__check_sender(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__check_seqs(p_seqs bigint[]) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    FOR i IN 1 .. coalesce(cardinality(p_seqs), 0) LOOP
        IF p_seqs[i] IS NULL THEN
            PERFORM @extschema@.harel__refuse_seq();
        ELSIF p_seqs[i] <= p_seqs[i - 1] THEN
            RAISE EXCEPTION USING
                ERRCODE = 'ST004',
                MESSAGE = 'the seqs of what another shard sends must ascend',
                DETAIL = format('Seq %s is followed by %s.', p_seqs[i - 1], p_seqs[i]),
                HINT = 'Pass the rows in the order in which that shard gave them.';
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__check_seqs(bigint[])
IS 'Internal. Raises ST001 for a seq that is missing, and ST004 for one that is not greater than that before it.';
REVOKE ALL ON FUNCTION @extschema@.harel__check_seqs(bigint[]) FROM PUBLIC;

-- The content is part of what a receipt is known by: a shard that was restored gives a seq again, for something else.
CREATE FUNCTION @extschema@.harel__receipt(p_kind text, p_id text, p_content text) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN @extschema@.harel__derived_id(p_kind, p_id, p_content)::uuid;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__receipt(text, text, text)
IS 'Internal. What an event for an execution, or the request for a child, is known by besides its seq.';
REVOKE ALL ON FUNCTION @extschema@.harel__receipt(text, text, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__received(p_from text, p_seqs bigint[], p_receipts uuid[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
BEGIN
    RETURN ARRAY(
        SELECT w.seq FROM unnest(p_seqs, p_receipts) WITH ORDINALITY AS w (seq, receipt, place)
        WHERE EXISTS (
            SELECT FROM @extschema@.shard_receipts r
            WHERE r.sender = p_from AND r.seq = w.seq AND r.receipt = w.receipt
            OFFSET 0
        )
        ORDER BY w.place
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel__received(text, bigint[], uuid[])
IS 'Internal. Which of what another shard sends has been received before.';
REVOKE ALL ON FUNCTION @extschema@.harel__received(text, bigint[], uuid[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_receive_events(
    p_from text, p_seqs bigint[], p_targets text[], p_events text[], p_now double precision DEFAULT NULL
) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_receipts uuid[] := '{}';
    v_known bigint[];
    v_seqs bigint[];
    v_targets text[];
    v_events text[];
    v_busy text[];
BEGIN
    PERFORM @extschema@.harel__check_list(
        NULL, 'the events', array_dims(p_seqs), array_dims(p_targets), array_dims(p_events)
    );
    PERFORM @extschema@.harel__check_sender(p_from);
    PERFORM @extschema@.harel__check_seqs(p_seqs);
    FOR i IN 1 .. coalesce(cardinality(p_seqs), 0) LOOP
        PERFORM @extschema@.harel__check_message(p_targets[i], p_events[i], 0);
        v_receipts[i] := @extschema@.harel__receipt('Event', p_targets[i], p_events[i]);
    END LOOP;
    PERFORM @extschema@.harel__refuse_elsewhere(p_targets);
    -- One at a time: of two, each with some of one source's events, the later ones could arrive first.
    IF NOT pg_try_advisory_xact_lock(hashtextextended('harel.receive:@extschema@:' || p_from, 0)) THEN
        RETURN '{}';
    END IF;
    v_known := @extschema@.harel__received(p_from, p_seqs, v_receipts);
    v_busy := @extschema@.harel__busy(p_targets);
    SELECT array_agg(e.seq ORDER BY e.place), array_agg(e.target ORDER BY e.place), array_agg(e.event ORDER BY e.place)
    INTO v_seqs, v_targets, v_events
    FROM unnest(p_seqs, p_targets, p_events) WITH ORDINALITY AS e (seq, target, event, place)
    WHERE e.seq <> ALL (v_known) AND e.target <> ALL (v_busy);
    IF v_seqs IS NULL THEN
        RETURN v_known;
    END IF;
    v_busy := @extschema@.harel__enqueue_free(v_targets, v_events, v_now);
    v_seqs := ARRAY(SELECT e.seq FROM unnest(v_seqs, v_targets) AS e (seq, target) WHERE e.target <> ALL (v_busy));
    INSERT INTO @extschema@.shard_receipts (sender, seq, receipt)
    SELECT p_from, e.seq, e.receipt
    FROM unnest(p_seqs, v_receipts) AS e (seq, receipt)
    WHERE e.seq = ANY (v_seqs);
    RETURN v_known || v_seqs;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_receive_events(text, bigint[], text[], text[], double precision)
IS
'Puts events of another shard, as harel_foreign_outbox() gave them there, into the queue: each once, however often it '
'is handed in, and those for one execution in the order given, which must be that of their seqs. Returns the seqs of '
'those that stand in the queue or did, to be settled there by harel_settle_outbox(); those for executions that are '
'being worked on, and all while another call receives from the same shard, are left for later. Raises ST016 for a '
'shard that is no other one, ST018 for an event that does not belong here, and ST001, ST003, ST004 or ST006.';
REVOKE ALL ON FUNCTION @extschema@.harel_receive_events(text, bigint[], text[], text[], double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_receive_spawns(
    p_from text,
    p_seqs bigint[],
    p_parents text[],
    p_children text[],
    p_root_paths text[],
    p_contexts text[],
    p_defns text[],
    p_priorities integer[],
    p_statuses text[],
    p_now double precision DEFAULT NULL
) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_receipts uuid[] := '{}';
    v_known bigint[];
    v_start text;
    v_group_ids text[] := '{}';
    v_events text[] := '{}';
    v_suspended text[] := '{}';
BEGIN
    PERFORM @extschema@.harel__check_list(
        NULL, 'the spawns',
        array_dims(p_seqs), array_dims(p_parents), array_dims(p_children), array_dims(p_root_paths),
        array_dims(p_contexts), array_dims(p_defns), array_dims(p_priorities), array_dims(p_statuses)
    );
    PERFORM @extschema@.harel__check_sender(p_from);
    PERFORM @extschema@.harel__check_seqs(p_seqs);
    FOR i IN 1 .. coalesce(cardinality(p_seqs), 0) LOOP
        IF p_root_paths[i] IS NULL OR p_contexts[i] IS NULL OR p_priorities[i] IS NULL THEN
            PERFORM @extschema@.harel__refuse_item(p_children[i], 'the spawns', i);
        END IF;
        PERFORM @extschema@.harel__check_key(p_children[i], 'parent id', p_parents[i]);
        PERFORM @extschema@.harel__check_key(p_parents[i], 'child id', p_children[i]);
        v_receipts[i] := @extschema@.harel__receipt('Spawn', p_children[i], p_contexts[i]);
    END LOOP;
    PERFORM @extschema@.harel__refuse_elsewhere(p_children);
    -- Waited for: whoever has handed in children goes on with their events, which must find them.
    PERFORM pg_advisory_xact_lock(hashtextextended('harel.receive:@extschema@:' || p_from, 0));
    v_known := @extschema@.harel__received(p_from, p_seqs, v_receipts);
    FOR i IN 1 .. coalesce(cardinality(p_seqs), 0) LOOP
        CONTINUE WHEN p_seqs[i] = ANY (v_known);
        v_start := @extschema@.harel__create_child(
            p_parents[i], p_defns[i], p_priorities[i], p_children[i], p_root_paths[i], p_contexts[i]
        );
        IF v_start IS NOT NULL THEN
            v_group_ids := v_group_ids || p_children[i];
            v_events := v_events || v_start;
            IF p_statuses[i] = 'SUSPENDED' THEN
                v_suspended := v_suspended || p_children[i];
            END IF;
        END IF;
        INSERT INTO @extschema@.shard_receipts (sender, seq, receipt) VALUES (p_from, p_seqs[i], v_receipts[i]);
    END LOOP;
    IF v_group_ids <> '{}' THEN
        PERFORM @extschema@.harel__enqueue(v_group_ids, v_events, NULL, v_now);
    END IF;
    IF v_suspended <> '{}' THEN
        PERFORM @extschema@.harel__control(v_suspended, 'SUSPENDED', false);
    END IF;
    RETURN coalesce(p_seqs, '{}');
END
$$;
COMMENT ON FUNCTION @extschema@.harel_receive_spawns(
    text, bigint[], text[], text[], text[], text[], text[], integer[], text[], double precision
) IS
'Creates children that executions of another shard have asked for, as harel_foreign_spawns() gave them there and as '
'harel_relay_spawns() would: each once, however often it is handed in, PENDING (SUSPENDED with its parent) and with a '
'Start event in the queue. Returns the seqs, to be settled there by harel_settle_spawns(). Raises ST016 for a shard '
'that is no other one, ST018 for a child that does not belong here, and ST001, ST003, ST004 or ST006.';
REVOKE ALL ON FUNCTION @extschema@.harel_receive_spawns(
    text, bigint[], text[], text[], text[], text[], text[], integer[], text[], double precision
) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_settle_spawns(p_seqs bigint[]) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_count integer;
BEGIN
    DELETE FROM @extschema@.spawns s WHERE s.seq = ANY (p_seqs);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_settle_spawns(bigint[])
IS 'Removes the requests for children that have been created; returns how many of them were pending.';
REVOKE ALL ON FUNCTION @extschema@.harel_settle_spawns(bigint[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_purge_receipts(
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
    v_tids := ARRAY(
        SELECT r.ctid
        FROM @extschema@.shard_receipts r
        WHERE r.received_at < v_before
        ORDER BY r.received_at
        LIMIT p_limit
        FOR UPDATE SKIP LOCKED
    );
    DELETE FROM @extschema@.shard_receipts r WHERE r.ctid = ANY (v_tids);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_purge_receipts(double precision, integer, double precision)
IS
'Forgets up to p_limit receipts (NULL: all) of what other shards sent more than p_older_than seconds ago, oldest '
'first: what is handed in once more would be taken once more. Keep them for longer than a relay may stand still and a '
'shard may be restored from a backup. Returns how many. Raises ST006, ST008 or ST011.';
REVOKE ALL ON FUNCTION @extschema@.harel_purge_receipts(double precision, integer, double precision) FROM PUBLIC;

-- An execution and its children may be on several shards. Each of these is called on every shard with the ids that the
-- others have returned, until there are no more.

CREATE FUNCTION @extschema@.harel__control_tree(p_ids text[], p_to text, OUT ids text[], OUT changed boolean)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_ids IS NULL OR EXISTS (SELECT FROM unnest(p_ids) AS i (id) WHERE i.id IS NULL) THEN
        PERFORM @extschema@.harel__refuse_key(NULL, 'execution id', NULL);
    END IF;
    changed := @extschema@.harel__control(p_ids, p_to, true);
    ids := @extschema@.harel__descent(p_ids);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__control_tree(text[], text)
IS 'Internal. harel__control(), and the ids of what is here of the trees. Raises ST001, ST002 or ST003.';
REVOKE ALL ON FUNCTION @extschema@.harel__control_tree(text[], text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_suspend_tree(p_ids text[], OUT ids text[], OUT changed boolean) RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    SELECT t.ids, t.changed INTO ids, changed FROM @extschema@.harel__control_tree(p_ids, 'SUSPENDED') t;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_suspend_tree(text[])
IS
'harel_suspend() of several executions that may be on other shards: suspends those that are here and all here that '
'descend from any of them. Returns the ids of all of these, and whether anything was changed. Raises ST001 for NULL, '
'and ST002 or ST003 as harel_suspend().';
REVOKE ALL ON FUNCTION @extschema@.harel_suspend_tree(text[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_resume_tree(p_ids text[], OUT ids text[], OUT changed boolean) RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    SELECT t.ids, t.changed INTO ids, changed FROM @extschema@.harel__control_tree(p_ids, 'RUNNING') t;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_resume_tree(text[])
IS
'harel_resume() of several executions that may be on other shards: resumes those that are here and all here that '
'descend from any of them. Returns the ids of all of these, and whether anything was changed. Raises ST001 for NULL, '
'and ST002 or ST003 as harel_resume().';
REVOKE ALL ON FUNCTION @extschema@.harel_resume_tree(text[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_cancel_tree(p_ids text[], OUT ids text[], OUT changed boolean) RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    SELECT t.ids, t.changed INTO ids, changed FROM @extschema@.harel__control_tree(p_ids, 'CANCELLED') t;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_cancel_tree(text[])
IS
'harel_cancel() of several executions that may be on other shards: cancels those that are here and all here that '
'descend from any of them. Returns the ids of all of these, and whether anything was changed. Raises ST001 for NULL, '
'and ST002 or ST003 as harel_cancel().';
REVOKE ALL ON FUNCTION @extschema@.harel_cancel_tree(text[]) FROM PUBLIC;
