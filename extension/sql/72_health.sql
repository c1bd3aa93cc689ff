-- What can be wrong, a function for each place where it would be looked for. Each returns a row for a fault, in words:
-- what it is, the figures, and what to do.
CREATE FUNCTION @extschema@.harel__health_of_server(p_now double precision)
RETURNS TABLE (problem text, detail text, remedy text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_before timestamptz := @extschema@.harel__time_before(300, p_now);
BEGIN
    RETURN QUERY
    SELECT
        'an old snapshot is held: nothing deleted since can be removed, and queue and commits slow down',
        format('Process %s of %s (%s), %s in a transaction since %s.',
            a.pid, coalesce(a.usename, 'the server'), coalesce(nullif(a.application_name, ''), 'no application name'),
            coalesce(a.state, a.backend_type), a.xact_start),
        format('End what it does, or: SELECT pg_terminate_backend(%s);', a.pid)
    FROM pg_stat_activity a
    WHERE a.backend_xmin IS NOT NULL
        AND a.xact_start < v_before
        AND a.backend_type <> 'autovacuum worker'
        AND a.pid <> pg_backend_pid()
        AND (a.datid IS NULL OR a.datname = current_database())
    ORDER BY a.xact_start;

    RETURN QUERY
    SELECT
        'a prepared transaction holds its locks and its snapshot',
        format('Transaction %L of %s, prepared at %s.', x.gid, x.owner, x.prepared),
        format('COMMIT PREPARED %L or ROLLBACK PREPARED %1$L, whatever it was meant for.', x.gid)
    FROM pg_prepared_xacts x
    WHERE x.database = current_database() AND x.prepared < v_before
    ORDER BY x.prepared;

    RETURN QUERY
    SELECT
        'a replication slot that nobody reads keeps the log, and what was deleted, until the disk is full',
        format('Slot %s keeps %s.', s.slot_name, pg_size_pretty(pg_wal_lsn_diff(
            CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, s.restart_lsn
        ))),
        format('Let its reader go on, or: SELECT pg_drop_replication_slot(%L);', s.slot_name)
    FROM pg_replication_slots s
    WHERE s.restart_lsn IS NOT NULL AND NOT s.active
    ORDER BY s.slot_name;

    RETURN QUERY
    SELECT
        'a commit that was acknowledged can be lost when the server crashes',
        format('%s is %s.', s.name, s.setting),
        format('Set %s = on.', s.name)
    FROM pg_settings s
    WHERE s.name IN ('fsync', 'synchronous_commit', 'full_page_writes') AND s.setting = 'off'
    ORDER BY s.name;

    RETURN QUERY
    SELECT
        'autovacuum is switched off',
        format('%s is off.', s.name),
        format('Set %s = on: tables grow and plans age without it.', s.name)
    FROM pg_settings s
    WHERE s.name IN ('autovacuum', 'track_counts') AND s.setting = 'off'
    ORDER BY s.name;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__health_of_server(double precision)
IS 'Internal. harel_health(): what holds for the whole server. A role without pg_monitor sees its own sessions only.';
REVOKE ALL ON FUNCTION @extschema@.harel__health_of_server(double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__health_of_vacuum(p_tables regclass[])
RETURNS TABLE (problem text, detail text, remedy text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT
        'autovacuum is behind: more than half of a table is dead rows',
        format('%s: %s dead and %s live rows, last vacuumed %s.', s.relid::regclass, s.n_dead_tup, s.n_live_tup,
            coalesce(greatest(s.last_vacuum, s.last_autovacuum)::text, 'never')),
        format('VACUUM %s; and let autovacuum have more workers, or a higher autovacuum_vacuum_cost_limit.',
            s.relid::regclass)
    FROM pg_stat_all_tables s
    WHERE s.relid = ANY (p_tables::oid[])
        AND s.n_dead_tup > 100000
        AND s.n_dead_tup > s.n_live_tup
    ORDER BY s.relname;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__health_of_vacuum(regclass[])
IS 'Internal. harel_health(): whether autovacuum keeps up with some tables.';
REVOKE ALL ON FUNCTION @extschema@.harel__health_of_vacuum(regclass[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__health_of_tables()
RETURNS TABLE (problem text, detail text, remedy text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT
        'an index is missing or was left unfinished: what it serves reads the whole table',
        format('%s.%s.', quote_ident('@extschema@'), w.name),
        CASE
            WHEN i.indexrelid IS NULL THEN 'Create it as the script of the extension does, CONCURRENTLY while others work.'
            ELSE format('REINDEX INDEX CONCURRENTLY %s;', i.indexrelid::regclass)
        END
    FROM unnest(ARRAY[
        'executions_by_definition', 'executions_by_status', 'executions_by_finish', 'executions_pkey',
        'executions_by_parent', 'processed_events_by_time', 'processed_events_pkey', 'timers_by_fire_at', 'timers_pkey',
        'outbox_targeted', 'outbox_by_target', 'outbox_pkey', 'spawns_by_child', 'spawns_by_parent', 'spawns_by_shard',
        'spawns_pkey', 'shards_pkey', 'shard_receipts_by_time', 'shard_receipts_pkey', 'trace_pkey',
        'transport_groups_by_available', 'transport_groups_by_priority', 'transport_groups_pkey',
        'transport_messages_pkey', 'dead_letters_by_group', 'dead_letters_by_time', 'dead_letters_pkey'
    ]) AS w (name)
    LEFT JOIN pg_class c ON c.relnamespace = '@extschema@'::regnamespace AND c.relname = w.name
    LEFT JOIN pg_index i ON i.indexrelid = c.oid
    WHERE i.indisvalid IS NOT TRUE
    ORDER BY w.name;

    RETURN QUERY SELECT * FROM @extschema@.harel__health_of_vacuum(ARRAY[
        '@extschema@.executions', '@extschema@.outbox', '@extschema@.processed_events', '@extschema@.timers',
        '@extschema@.spawns', '@extschema@.trace', '@extschema@.transport_groups', '@extschema@.transport_messages',
        '@extschema@.dead_letters', '@extschema@.shard_receipts'
    ]::regclass[]);

    -- There each node counts for itself.
    IF @extschema@.harel__is_distributed() THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT
        'a sequence is behind its table: commits with emits or spawns fail',
        format('%s is at %s, and the greatest seq in its table is %s.', r.name, r.last_value, r.seq),
        format('SELECT %s.harel_reset_sequences();', quote_ident('@extschema@'))
    FROM (
        SELECT 'outbox_seq_seq', s.last_value, (SELECT max(o.seq) FROM @extschema@.outbox o)
        FROM @extschema@.outbox_seq_seq s
        UNION ALL
        SELECT 'spawns_seq_seq', s.last_value, (SELECT max(p.seq) FROM @extschema@.spawns p)
        FROM @extschema@.spawns_seq_seq s
        UNION ALL
        SELECT 'shards_joined', CASE WHEN s.is_called THEN 1 ELSE 0 END, 1
        FROM @extschema@.shards_joined s
        WHERE EXISTS (SELECT FROM @extschema@.shards m WHERE m.joined_at IS NOT NULL)
    ) AS r (name, last_value, seq)
    WHERE r.last_value < r.seq;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__health_of_tables()
IS 'Internal. harel_health(): what holds for the tables of the store, their indexes and their sequences.';
REVOKE ALL ON FUNCTION @extschema@.harel__health_of_tables() FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__stuck_leases(p_before timestamptz, p_now double precision)
RETURNS TABLE (group_id text, worker text, claimed_at timestamptz, attempts integer)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
BEGIN
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY SELECT * FROM @extschema@.harel__everywhere_stuck_leases(p_before, p_now);
        RETURN;
    END IF;
    RETURN QUERY
    SELECT g.group_id, g.worker, g.claimed_at, g.attempts
    FROM (
        SELECT g.group_id, g.worker, g.claimed_at, g.attempts
        FROM @extschema@.transport_groups g
        WHERE g.available_at > p_now AND g.available_at < 'Infinity' AND g.token IS NOT NULL
        ORDER BY g.available_at
        LIMIT 10000
    ) g
    WHERE g.claimed_at < p_before
    LIMIT 10;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__stuck_leases(timestamptz, double precision)
IS 'Internal. Leases that run and were claimed before a time: at most 10, of the first 10000 that run out.';
REVOKE ALL ON FUNCTION @extschema@.harel__stuck_leases(timestamptz, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__health_of_work(p_now double precision)
RETURNS TABLE (problem text, detail text, remedy text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    v_stats record;
    v_letter text;
    v_group record;
BEGIN
    SELECT * INTO v_stats FROM @extschema@.harel_stats(p_now);
    IF v_stats.oldest_wait > 60 THEN
        RETURN QUERY SELECT
            'messages wait and nobody takes them',
            format('%s messages are queued; the first has waited for %s s.', v_stats.queued, round(v_stats.oldest_wait)),
            'Start workers, or more of them, and look at what they log.';
    END IF;
    IF v_stats.oldest_overdue > 60 THEN
        RETURN QUERY SELECT
            'timers are overdue',
            format('%s timers are due, the first for %s s.', v_stats.overdue_timers, round(v_stats.oldest_overdue)),
            format('Let a worker run, or call SELECT * FROM %s.harel_tick(); every second.', quote_ident('@extschema@'));
    END IF;
    IF v_stats.outbox >= 10000 THEN
        RETURN QUERY SELECT
            'events with a target pile up in the outbox',
            '10000 or more have not been moved into the queue.',
            format('Let a worker run, or call SELECT * FROM %s.harel_tick(); every second.', quote_ident('@extschema@'))
                || CASE
                    WHEN EXISTS (SELECT FROM @extschema@.harel_waiting_shards())
                        THEN ' Some are for other shards: let harel relay run.'
                    ELSE ''
                END;
    END IF;
    IF v_stats.dead_letters > 0 THEN
        SELECT left(d.group_id, 40) || ': ' || left(d.reason, 200) INTO v_letter
        FROM @extschema@.dead_letters d
        ORDER BY d.dead_at DESC, d.seq DESC
        LIMIT 1;
        RETURN QUERY SELECT
            'there are dead letters: events that were not handled',
            format('%s, the last one for %s.', v_stats.dead_letters, quote_literal(v_letter)),
            format('See SELECT * FROM %s.harel_dead_letters(); mend the cause, then harel_redrive() puts them back.',
                quote_ident('@extschema@'));
    END IF;
    -- A lease is prolonged for as long as its step takes.
    FOR v_group IN
        SELECT * FROM @extschema@.harel__stuck_leases(@extschema@.harel__time_before(3600, p_now), p_now)
    LOOP
        RETURN QUERY SELECT
            'a lease is stuck: a step has gone on for more than an hour',
            format('Execution %L, worker %L, delivered %s times, since %s.',
                left(v_group.group_id, 40), left(v_group.worker, 40), v_group.attempts, v_group.claimed_at),
            'Look at that worker; once it has ended, another gets the message when the lease is over.';
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__health_of_work(double precision)
IS 'Internal. harel_health(): what is waiting for too long.';
REVOKE ALL ON FUNCTION @extschema@.harel__health_of_work(double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_health(
    p_client_version text DEFAULT NULL,
    p_client_now double precision DEFAULT NULL,
    p_now double precision DEFAULT NULL
) RETURNS TABLE (problem text, detail text, remedy text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_ahead double precision;
    v_version text := @extschema@.harel_version();
BEGIN
    -- What no clock shows is cut off, lest the difference be no number.
    v_ahead := greatest(least(v_now, 1e15), -1e15) - greatest(least(@extschema@.harel__clock(p_client_now), 1e15), -1e15);
    IF p_client_now IS NOT NULL AND abs(v_ahead) > 2 THEN
        RETURN QUERY SELECT
            'the clocks of the client and of the database differ',
            format('The database is %s s ahead.', round(v_ahead::numeric, 1)),
            'Let both follow a time server: deadlines that the client works out are off by so much.';
    END IF;
    IF p_client_version <> v_version THEN
        RETURN QUERY SELECT
            'client and store are of different versions',
            format('The client is made for %s, the store is %s.', left(p_client_version, 40), v_version),
            'Update the older one; a store by ALTER EXTENSION harel UPDATE, or by the script that upgrades it.';
    END IF;
    RETURN QUERY
    SELECT
        'the files of the extension on this server are of another version than the store',
        format('The store is %s, the files are %s.', e.extversion, a.default_version),
        'ALTER EXTENSION harel UPDATE;'
    FROM pg_extension e
    JOIN pg_available_extensions a ON a.name = e.extname
    WHERE e.extname = 'harel'
        AND e.extnamespace = '@extschema@'::regnamespace
        AND a.default_version <> e.extversion;

    RETURN QUERY SELECT * FROM @extschema@.harel__health_of_server(v_now);
    RETURN QUERY SELECT * FROM @extschema@.harel__health_of_tables();
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY SELECT * FROM @extschema@.harel__everywhere_health(v_now);
    END IF;
    RETURN QUERY SELECT * FROM @extschema@.harel__health_of_work(v_now);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_health(text, double precision, double precision)
IS
'What is wrong with the store and what to do about it, a row for each problem; none where all is well. A client may '
'pass the version that it is made for and its clock (seconds since the epoch), which are compared. The sessions of '
'other roles are seen by a role with pg_monitor only. Raises ST006.';
REVOKE ALL ON FUNCTION @extschema@.harel_health(text, double precision, double precision) FROM PUBLIC;
