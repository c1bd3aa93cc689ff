-- The store spread over the nodes of a Citus cluster. All rows of an execution lie on one node, found by its id: the
-- functions that take the id run there as a whole, in one statement and without a second phase. Those that look over
-- all executions have another body for that case, in 92_distributed.sql, which finds the ids by a query over all nodes
-- and calls such a function for each. What an execution emits or spawns stays in its outbox and its spawns until
-- harel_relay() and harel_relay_spawns() move it, on both nodes in one transaction.

-- An index is a marker that costs a look into a cache. A node that was added later has only the tables of the
-- extension, without it, and is told by Citus what is distributed.
CREATE FUNCTION @extschema@.harel__is_distributed() RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_distributed boolean := false;
BEGIN
    IF to_regclass('@extschema@.outbox_by_seq') IS NOT NULL THEN
        RETURN true;
    ELSIF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
        -- The last that is distributed.
        EXECUTE 'SELECT true FROM pg_dist_partition p WHERE p.logicalrelid = $1 AND p.partmethod = ''h'''
        INTO v_distributed USING '@extschema@.dead_letters'::regclass;
    END IF;
    RETURN v_distributed IS TRUE;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__is_distributed()
IS 'Internal. Whether harel_distribute() has spread this store over a Citus cluster.';
REVOKE ALL ON FUNCTION @extschema@.harel__is_distributed() FROM PUBLIC;

-- Each node counts for itself, from 1. With the number of the node before it a seq names one row of all nodes; it says
-- nothing of the order, which version and ord keep.
CREATE FUNCTION @extschema@.harel__first_seq() RETURNS bigint
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_node integer;
BEGIN
    EXECUTE 'SELECT l.groupid FROM pg_dist_local_group l' INTO v_node;
    RETURN v_node::bigint << 48;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__first_seq()
IS 'Internal. What this node of a cluster adds to each seq, so that no other gives the same: 0 on the coordinator.';
REVOKE ALL ON FUNCTION @extschema@.harel__first_seq() FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__on_other_nodes(p_command text) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_failure text;
BEGIN
    EXECUTE
        'SELECT min(format(''%s:%s: %s'', w.nodename, w.nodeport, w.result)) FROM run_command_on_workers($1) w '
        'WHERE NOT w.success'
    INTO v_failure
    -- As one statement: of several only the failure of the first would be seen.
    USING format('DO %L', 'BEGIN SET LOCAL citus.enable_ddl_propagation = off; ' || p_command || '; END');
    RETURN v_failure;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__on_other_nodes(text)
IS
'Internal. Carries out a command of PL/pgSQL on each node but this one, each in a transaction of its own; returns what '
'one says that failed, or NULL.';
REVOKE ALL ON FUNCTION @extschema@.harel__on_other_nodes(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__grant_elsewhere(p_role name, p_access text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_failure text := @extschema@.harel__on_other_nodes(
        format('PERFORM @extschema@.harel__grant_here(%L, %L)', p_role, p_access)
    );
BEGIN
    IF v_failure IS NOT NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST009',
            MESSAGE = 'the access could not be changed on every node',
            DETAIL = left(v_failure, 300),
            HINT = 'Call it again, on the coordinator, once every node can be reached and has the role.';
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__grant_elsewhere(name, text)
IS 'Internal. harel__grant_here() on each of the other nodes. Raises ST009.';
REVOKE ALL ON FUNCTION @extschema@.harel__grant_elsewhere(name, text) FROM PUBLIC;

-- Not those that read: they have one statement, which Citus sends as well, and take NULL for an id, which Citus (13.2)
-- does not survive where it looks for the node of a function.
CREATE FUNCTION @extschema@.harel__delegated() RETURNS SETOF regprocedure
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT p.oid::regprocedure
    FROM pg_proc p
    WHERE p.pronamespace = '@extschema@'::regnamespace
        AND p.proname IN (
            'harel_commit_cas', 'harel_commit', 'harel_append_trace',
            'harel_send', 'harel_publish', 'harel_ack', 'harel_nack',
            'harel__claim_group', 'harel__refuse_group', 'harel__extend_group', 'harel__finish_group',
            'harel__enqueue_group', 'harel__receive_events', 'harel__take_events', 'harel__drop_events',
            'harel__take_spawns', 'harel__drop_spawns', 'harel__receive_child', 'harel__fire_timers_of',
            'harel__lock_execution', 'harel__control_execution', 'harel__purge_execution', 'harel__redrive_group',
            'harel__lock_finished', 'harel__forget_events', 'harel__list_of_shard', 'harel__stats_of_shard',
            'harel__definitions_of_shard', 'harel__activity_of_shard', 'harel__health_of_shard',
            'harel__health_of_node', 'harel__sample_of_shard', 'harel__entries_of_shard'
        );
END
$$;
COMMENT ON FUNCTION @extschema@.harel__delegated()
IS 'Internal. The functions that run on the node of the id that is their first argument.';
REVOKE ALL ON FUNCTION @extschema@.harel__delegated() FROM PUBLIC;

-- Of a plan for all arguments Citus (13.2) makes a new one for the shard at each call, and keeps it: a session of a
-- node would grow by 100 KB with every commit. And what only reads needs no transaction on the other nodes, which would
-- be two more round trips.
CREATE FUNCTION @extschema@.harel__prepare_node() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_function regprocedure;
    v_propagation text := current_setting('citus.enable_ddl_propagation');
BEGIN
    -- Each node does it for itself.
    PERFORM set_config('citus.enable_ddl_propagation', 'off', true);
    FOR v_function IN SELECT * FROM @extschema@.harel__delegated() LOOP
        EXECUTE format('ALTER FUNCTION %s SET plan_cache_mode = force_custom_plan', v_function);
    END LOOP;
    FOR v_function IN
        SELECT p.oid::regprocedure
        FROM pg_proc p
        WHERE p.pronamespace = '@extschema@'::regnamespace
            AND pg_catalog.starts_with(p.proname, 'harel_')
            AND NOT pg_catalog.starts_with(p.proname, 'harel__')
            AND p.provolatile = 's'
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET plan_cache_mode = force_custom_plan', v_function);
        EXECUTE format('ALTER FUNCTION %s SET citus.function_opens_transaction_block = off', v_function);
    END LOOP;
    PERFORM set_config('citus.enable_ddl_propagation', v_propagation, true);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__prepare_node()
IS 'Internal. Makes this node of a cluster ready to run the functions of harel__delegated().';
REVOKE ALL ON FUNCTION @extschema@.harel__prepare_node() FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__check_distribution(p_shards integer) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_detail text;
    v_hint text;
    v_node integer;
BEGIN
    IF (p_shards BETWEEN 1 AND 64000) IS NOT TRUE THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST008',
            MESSAGE = 'the number of shards must be between 1 and 64000',
            DETAIL = format('The number is %s.', coalesce(p_shards::text, 'NULL')),
            HINT = 'Pass for instance 32: some shards a core, for the number of nodes that you expect to have one day.';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'citus') THEN
        v_detail := 'The extension citus is not in this database.';
        v_hint := 'CREATE EXTENSION citus on every node, add the nodes with citus_add_node(), and call this again.';
    ELSIF NOT EXISTS (
        SELECT FROM pg_depend d
        WHERE d.classid = 'pg_class'::regclass
            AND d.objid = '@extschema@.executions'::regclass
            AND d.refclassid = 'pg_extension'::regclass
            AND d.deptype = 'e'
    ) THEN
        v_detail := 'The store was created by the plain script and not as an extension.';
        v_hint := 'Create a store with CREATE EXTENSION harel in another database; harel_adopt() takes over these rows.';
    ELSIF EXISTS (SELECT FROM @extschema@.shards s WHERE s.joined_at IS NOT NULL) THEN
        v_detail := 'The store is one of several shards: see harel_shards().';
        v_hint := 'Spread a store that is no shard.';
    ELSE
        EXECUTE 'SELECT l.groupid FROM pg_dist_local_group l' INTO v_node;
        IF v_node <> 0 THEN
            v_detail := format('This is node group %s and not the coordinator.', v_node);
            v_hint := 'Call it on the coordinator; afterwards clients may connect to any node.';
        ELSIF @extschema@.harel__is_distributed() THEN
            v_detail := 'The store is distributed already.';
            v_hint := 'Nodes added later take part once citus_rebalance_start() has moved shards to them.';
        END IF;
    END IF;
    IF v_detail IS NOT NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST017',
            MESSAGE = 'the store cannot be distributed',
            DETAIL = v_detail,
            HINT = v_hint;
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__check_distribution(integer)
IS 'Internal. Raises ST008 or ST017 where harel_distribute() cannot be carried out.';
REVOKE ALL ON FUNCTION @extschema@.harel__check_distribution(integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_distribute(p_shards integer DEFAULT 32) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET client_min_messages = warning
AS $$
DECLARE
    v_table text[];
    v_function regprocedure;
    v_done boolean;
    v_failure text;
    v_role record;
BEGIN
    PERFORM @extschema@.harel__check_distribution(p_shards);
    v_failure := @extschema@.harel__on_other_nodes((
        SELECT format(
            'CREATE SCHEMA IF NOT EXISTS %1$s; CREATE EXTENSION IF NOT EXISTS harel SCHEMA %1$s VERSION %2$L; '
            'ALTER EXTENSION harel UPDATE TO %2$L; PERFORM %1$s.harel__prepare_node()',
            e.extnamespace::regnamespace, e.extversion
        )
        FROM pg_extension e
        WHERE e.extname = 'harel'
    ));
    IF v_failure IS NOT NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST017',
            MESSAGE = 'the store cannot be distributed',
            DETAIL = left(v_failure, 300),
            HINT = 'Every node must be there and have the files of this version of harel.';
    END IF;
    FOR v_role IN SELECT * FROM @extschema@.harel__roles() LOOP
        PERFORM @extschema@.harel__grant_elsewhere(v_role.name, v_role.access);
    END LOOP;
    PERFORM @extschema@.harel__prepare_node();
    -- Nobody commits until the end of the transaction.
    LOCK TABLE @extschema@.executions, @extschema@.outbox, @extschema@.processed_events, @extschema@.timers,
        @extschema@.spawns, @extschema@.trace, @extschema@.transport_groups, @extschema@.transport_messages,
        @extschema@.dead_letters IN ACCESS EXCLUSIVE MODE;
    PERFORM @extschema@.harel__check_distribution(p_shards);

    -- A key must hold the column by which rows are spread, and an event of nobody is one of the empty id.
    UPDATE @extschema@.outbox SET source_id = '' WHERE source_id IS NULL;
    ALTER TABLE @extschema@.outbox
        DROP CONSTRAINT outbox_pkey,
        ADD CONSTRAINT outbox_pkey PRIMARY KEY (source_id, version, ord, seq),
        ALTER COLUMN source_id SET DEFAULT '';
    ALTER TABLE @extschema@.spawns
        DROP CONSTRAINT spawns_pkey,
        ADD CONSTRAINT spawns_pkey PRIMARY KEY (parent_id, version, ord, seq);
    ALTER TABLE @extschema@.dead_letters
        DROP CONSTRAINT dead_letters_pkey,
        ADD CONSTRAINT dead_letters_pkey PRIMARY KEY (group_id, id);

    FOREACH v_table SLICE 1 IN ARRAY ARRAY[
        ['executions', 'id'], ['outbox', 'source_id'], ['processed_events', 'execution_id'],
        ['timers', 'execution_id'], ['spawns', 'parent_id'], ['trace', 'execution_id'],
        ['transport_groups', 'group_id'], ['transport_messages', 'group_id'], ['dead_letters', 'group_id']
    ] LOOP
        -- One that was distributed before is taken as it is, if its rows lie where those of their execution do.
        EXECUTE
            'SELECT p.partmethod = ''h'' AND column_to_column_name(p.logicalrelid, p.partkey) = $2 '
            'AND ($1 = $3 OR p.colocationid = (SELECT e.colocationid FROM pg_dist_partition e WHERE e.logicalrelid = $3)) '
            'FROM pg_dist_partition p WHERE p.logicalrelid = $1 AND (p.partmethod = ''h'' OR p.repmodel = ''t'')'
        INTO v_done
        USING ('@extschema@.' || v_table[1])::regclass, v_table[2], '@extschema@.executions'::regclass;
        CONTINUE WHEN v_done;
        IF NOT v_done THEN
            RAISE EXCEPTION USING
                ERRCODE = 'ST017',
                MESSAGE = 'the store cannot be distributed',
                DETAIL = format('The table %s is distributed already, in another way.', v_table[1]),
                HINT = 'Copy the rows into a store in another database and distribute that.';
        END IF;
        IF v_table[1] = 'executions' THEN
            EXECUTE 'SELECT create_distributed_table($1, $2, shard_count => $3, colocate_with => ''none'')'
            USING '@extschema@.executions'::regclass, 'id', p_shards;
        ELSE
            EXECUTE 'SELECT create_distributed_table($1, $2, colocate_with => ''@extschema@.executions'')'
            USING ('@extschema@.' || v_table[1])::regclass, v_table[2];
        END IF;
    END LOOP;

    -- By their seq the callers of harel_ack_outbox() and harel_ack_spawn() name rows.
    CREATE INDEX outbox_by_seq ON @extschema@.outbox (seq);
    CREATE INDEX spawns_by_seq ON @extschema@.spawns (seq);

    FOR v_function IN SELECT * FROM @extschema@.harel__delegated() LOOP
        EXECUTE
            'SELECT create_distributed_function($1, $2, colocate_with => ''@extschema@.executions'', '
            'force_delegation => true)'
        USING v_function, (SELECT p.proargnames[1] FROM pg_proc p WHERE p.oid = v_function);
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_distribute(integer)
IS
'Spreads the store, empty or not, over the nodes of a Citus cluster by the ids of the executions, in so many shards. '
'To be called once, on the coordinator, by the owner of the store; nobody commits meanwhile. Afterwards each call '
'works on any node. Raises ST008, and ST017 where Citus is not there or the store is distributed already.';
REVOKE ALL ON FUNCTION @extschema@.harel_distribute(integer) FROM PUBLIC;
