-- Another program may have kept the six tables of the contract before this store came.
CREATE FUNCTION @extschema@.harel__check_adoption(p_schema name, p_prefix text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_missing text;
    v_full text;
BEGIN
    SELECT string_agg(format('%s%s.%s %s', left(p_prefix, 40), w.tab, w.col, w.typ), ', ' ORDER BY w.tab, w.col)
    INTO v_missing
    FROM (VALUES
        ('executions', 'id', 'text'), ('executions', 'definition_id', 'text'), ('executions', 'data', 'text'),
        ('executions', 'version', 'integer'),
        ('outbox', 'seq', 'bigint'), ('outbox', 'target_id', 'text'), ('outbox', 'event', 'text'),
        ('processed_events', 'execution_id', 'text'), ('processed_events', 'event_id', 'text'),
        ('timers', 'execution_id', 'text'), ('timers', 'path', 'text'), ('timers', 'fire_at', 'double precision'),
        ('spawns', 'seq', 'bigint'), ('spawns', 'parent_id', 'text'), ('spawns', 'child_id', 'text'),
        ('spawns', 'root_path', 'text'), ('spawns', 'context', 'text'),
        ('trace', 'execution_id', 'text'), ('trace', 'idx', 'integer'), ('trace', 'entry', 'text')
    ) AS w (tab, col, typ)
    WHERE NOT EXISTS (
        SELECT FROM pg_class c
        JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE n.nspname = p_schema AND c.relname = p_prefix || w.tab AND c.relkind IN ('r', 'p')
            AND a.attname = w.col AND a.atttypid = w.typ::regtype
    );
    IF p_schema IS NULL OR p_schema = '@extschema@'::regnamespace::name OR v_missing IS NOT NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST014',
            MESSAGE = 'the schema does not hold the six tables of another program',
            DETAIL = CASE
                WHEN p_schema IS NULL THEN 'The schema is NULL.'
                WHEN p_schema = '@extschema@'::regnamespace::name THEN format('%I is the schema of this store.', p_schema)
                ELSE format('Schema %I lacks %s.', p_schema, v_missing)
            END,
            HINT = 'Pass the schema of executions, outbox, processed_events, timers, spawns and trace, with those columns.';
    END IF;
    IF @extschema@.harel__is_distributed() THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST014',
            MESSAGE = 'the store is spread over several nodes',
            DETAIL = 'Rows of another program are taken over by a store on one server.',
            HINT = 'Adopt them into a store that was just created, and call harel_distribute() there afterwards.';
    END IF;
    SELECT string_agg(f.tab, ', ' ORDER BY f.tab)
    INTO v_full
    FROM (
        SELECT 'executions' FROM @extschema@.executions
        UNION SELECT 'outbox' FROM @extschema@.outbox
        UNION SELECT 'processed_events' FROM @extschema@.processed_events
        UNION SELECT 'timers' FROM @extschema@.timers
        UNION SELECT 'spawns' FROM @extschema@.spawns
        UNION SELECT 'trace' FROM @extschema@.trace
        -- A shard would have to refuse what belongs to the others.
        UNION SELECT 'shards' FROM @extschema@.shards
    ) AS f (tab);
    IF v_full IS NOT NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST014',
            MESSAGE = 'the store is not empty',
            DETAIL = format('There are rows in %s.', v_full),
            HINT = 'Adopt the tables of another program into a store that was just created.';
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__check_adoption(name, text)
IS 'Internal. Raises ST014 unless a schema holds the six tables and this store, on one server, is empty.';
REVOKE ALL ON FUNCTION @extschema@.harel__check_adoption(name, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__adopted(p_id text, p_definition_id text, p_data text, p_version bigint) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- As a commit would refuse them.
    PERFORM @extschema@.harel__refuse_commit(p_id, p_definition_id, p_data, p_version - 1, NULL);
    RETURN p_data::jsonb;
EXCEPTION WHEN data_exception OR program_limit_exceeded OR feature_not_supported OR internal_error THEN
    RETURN @extschema@.harel__fields(p_id, p_data);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__adopted(text, text, text, bigint)
IS 'Internal. The fields kept beside the data of an execution of another program. Raises ST001, ST002 or ST003.';
REVOKE ALL ON FUNCTION @extschema@.harel__adopted(text, text, text, bigint) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__check_key(p_id text, p_what text, p_key text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF (octet_length(p_key) BETWEEN 1 AND 1000) IS NOT TRUE THEN
        PERFORM @extschema@.harel__refuse_key(p_id, p_what, p_key);
    END IF;
    RETURN p_key;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__check_key(text, text, text)
IS 'Internal. A key as it is; raises ST001 for one that is missing, empty or longer than 1000 bytes.';
REVOKE ALL ON FUNCTION @extschema@.harel__check_key(text, text, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_adopt(p_schema name, p_prefix text DEFAULT '') RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_prefix text := coalesce(p_prefix, '');
    v_tables text[] := ARRAY['executions', 'outbox', 'processed_events', 'timers', 'spawns', 'trace'];
    v_copy text[];
    v_table text;
    v_sequence regclass;
    v_count bigint;
    v_rows bigint := 0;
BEGIN
    PERFORM @extschema@.harel__check_adoption(p_schema, v_prefix);
    -- Nobody writes here or there until the end of the transaction.
    FOREACH v_table IN ARRAY v_tables LOOP
        EXECUTE format('LOCK TABLE %I.%I IN ACCESS EXCLUSIVE MODE', p_schema, v_prefix || v_table);
        EXECUTE format('LOCK TABLE %s IN EXCLUSIVE MODE', ('@extschema@.' || v_table)::regclass);
    END LOOP;
    PERFORM @extschema@.harel__check_adoption(p_schema, v_prefix);

    FOREACH v_copy SLICE 1 IN ARRAY ARRAY[
        ['executions', $copy$
            INSERT INTO @extschema@.executions (
                id, definition_id, data, version, status, outcome, active_path, parent_id, priority, finished_at
            )
            SELECT
                o.id, o.definition_id, o.data, o.version, coalesce(left(f.fields ->> 'status', 100), ''),
                f.fields ->> 'outcome', f.fields ->> 'active_path', f.fields ->> 'parent_id',
                CASE WHEN f.fields ->> 'priority' IN ('1', '2', '3', '4') THEN f.fields ->> 'priority' ELSE '0' END::smallint,
                CASE
                    WHEN f.fields ->> 'status' IN ('DONE', 'CANCELLED', 'FAILED')
                        THEN coalesce(@extschema@.harel__finished_at(f.fields), now())
                END
            FROM %I.%I o
            CROSS JOIN LATERAL (
                SELECT @extschema@.harel__adopted(o.id, o.definition_id, o.data, o.version) OFFSET 0
            ) AS f (fields)
        $copy$],
        ['outbox', $copy$
            INSERT INTO @extschema@.outbox (seq, target_id, event)
            SELECT
                o.seq,
                CASE WHEN o.target_id IS NOT NULL THEN @extschema@.harel__check_key(NULL, 'target id', o.target_id) END,
                o.event
            FROM %I.%I o
        $copy$],
        ['processed_events', $copy$
            INSERT INTO @extschema@.processed_events (execution_id, event_id)
            SELECT
                @extschema@.harel__check_key(NULL, 'execution id', o.execution_id),
                @extschema@.harel__check_key(o.execution_id, 'event id', o.event_id)
            FROM %I.%I o
        $copy$],
        ['timers', $copy$
            INSERT INTO @extschema@.timers (execution_id, path, fire_at)
            SELECT
                @extschema@.harel__check_key(NULL, 'execution id', o.execution_id),
                CASE WHEN o.path = '' THEN '' ELSE @extschema@.harel__check_key(o.execution_id, 'timer path', o.path) END,
                @extschema@.harel__clock(coalesce(o.fire_at, 'NaN'))
            FROM %I.%I o
        $copy$],
        ['spawns', $copy$
            INSERT INTO @extschema@.spawns (seq, parent_id, child_id, root_path, context)
            SELECT
                o.seq,
                @extschema@.harel__check_key(NULL, 'parent id', o.parent_id),
                @extschema@.harel__check_key(o.parent_id, 'child id', o.child_id),
                o.root_path, o.context
            FROM %I.%I o
        $copy$],
        ['trace', $copy$
            INSERT INTO @extschema@.trace (execution_id, idx, entry)
            SELECT @extschema@.harel__check_key(NULL, 'execution id', o.execution_id), o.idx, o.entry
            FROM %I.%I o
        $copy$]
    ] LOOP
        EXECUTE format(v_copy[2], p_schema, v_prefix || v_copy[1]);
        GET DIAGNOSTICS v_count = ROW_COUNT;
        v_rows := v_rows + v_count;
    END LOOP;

    -- A seq that was given once is not given again, though its row be gone.
    FOREACH v_table IN ARRAY ARRAY['outbox', 'spawns'] LOOP
        v_sequence := pg_get_serial_sequence(format('%I.%I', p_schema, v_prefix || v_table), 'seq');
        EXECUTE format(
            'SELECT setval(%L, greatest(max(seq), %s)) FROM %I.%I HAVING greatest(max(seq), %2$s) IS NOT NULL',
            '@extschema@.' || v_table || '_seq_seq',
            coalesce(pg_sequence_last_value(v_sequence)::text, 'NULL::bigint'),
            p_schema, v_prefix || v_table
        );
    END LOOP;

    -- What still looks for them fails, rather than go on beside the store.
    FOREACH v_table IN ARRAY v_tables LOOP
        EXECUTE format(
            'ALTER TABLE %I.%I RENAME TO %I', p_schema, v_prefix || v_table, v_prefix || v_table || '_adopted'
        );
    END LOOP;
    RETURN v_rows;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_adopt(name, text)
IS
'Takes over what another program keeps in the six tables of the contract in a schema, under names that may begin with '
'a prefix: every row byte for byte, the fields kept beside data, and the sequences, into this store, which must be '
'empty and on one server. The tables stay there as executions_adopted and so on, for you to drop. For their owner. '
'Returns how many rows were taken over. Raises ST014, and ST001, ST002, ST003 or ST006 for a row that no store can hold.';
REVOKE ALL ON FUNCTION @extschema@.harel_adopt(name, text) FROM PUBLIC;
