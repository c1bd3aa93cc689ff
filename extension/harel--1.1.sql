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
-- A crash before the commit leaves none of it and a crash after leaves all of it. From there harel_tick() moves it
-- on into the queue, where events wait: transport_groups has a row for each execution with messages, and its lock
-- keeps them in order and one at a time. harel_next() leases messages and loads their executions; harel_finish()
-- commits the steps, publishes what they emit and removes the messages, fenced by the token of the lease. Who has a
-- queue elsewhere reads the rows with the harel_pending_*() and harel_due_*() functions and settles them himself.
--
-- Locks are taken in one order by all who wait for several: executions by id, groups by id, then what hangs on an
-- execution. Claims, relays and sweepers do not wait: they pass over what another has locked. So what they move into
-- the queue may also be locked before the groups, by whoever takes it away with an execution.
--
-- Conventions. Arguments are p_*, locals v_*. Names are qualified and the search path is pinned, so that no
-- object of a caller can stand in for one of ours. A lost race is an answer (false, 0, NULL). An exception means
-- a mistake of the caller: its SQLSTATE is of class ST, with a DETAIL that names the ids and a HINT.
-- Functions named harel__* are internal. A commit touches rows of its own execution id only; harel_finish() adds the
-- messages that it publishes and the children that it creates.

-- Nor can one while it is created: whatever the search path of the session, only what PostgreSQL brings is found by its
-- bare name.
SET LOCAL search_path = pg_catalog, pg_temp;

DO $$
DECLARE
    v_taken text := coalesce(
        to_regclass('@extschema@.executions')::text,
        (
            SELECT min(p.oid::regprocedure::text) FROM pg_proc p
            WHERE p.pronamespace = '@extschema@'::regnamespace AND starts_with(p.proname, 'harel_')
        )
    );
BEGIN
    IF v_taken IS NOT NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST014',
            MESSAGE = 'the schema has things of another program by the names of this store',
            DETAIL = format('There is %s.', v_taken),
            HINT = 'Create the store in a schema of its own: CREATE SCHEMA harel; CREATE EXTENSION harel SCHEMA harel; '
                'harel.harel_adopt() then takes over what the other keeps in the tables of the contract.';
    END IF;
END
$$;
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
    priority smallint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    commit_id uuid,
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
COMMENT ON COLUMN @extschema@.executions.priority
IS 'Copied from data at commit where it is 1 to 4, and otherwise 0: the priority of its messages in the queue.';
COMMENT ON COLUMN @extschema@.executions.commit_id
IS 'What the last commit called itself, for harel_outcome(); NULL where it had no name.';
COMMENT ON COLUMN @extschema@.executions.finished_at
IS
'When the status came to be DONE, CANCELLED or FAILED: finished_at of data (seconds since the epoch) where it has '
'one, and otherwise the time of the commit; NULL in any other status.';

CREATE TABLE @extschema@.outbox (
    seq bigserial NOT NULL,
    target_id text COLLATE "C",
    event text NOT NULL,
    source_id text COLLATE "C",
    version integer NOT NULL DEFAULT 0,
    ord integer NOT NULL DEFAULT 0,
    shard text COLLATE "C",
    CONSTRAINT outbox_pkey PRIMARY KEY (seq)
);
COMMENT ON TABLE @extschema@.outbox
IS 'Events emitted by commits and not yet sent, oldest first by seq.';
COMMENT ON COLUMN @extschema@.outbox.target_id
IS 'The execution that the event is for; NULL for a broadcast.';
COMMENT ON COLUMN @extschema@.outbox.source_id
IS 'The execution that emitted the event.';
COMMENT ON COLUMN @extschema@.outbox.version
IS
'The version that the source came to by the commit that emitted the event, and with ord the order of the events of one '
'source; 0 where it was written before version 1.1, or in another program.';
COMMENT ON COLUMN @extschema@.outbox.ord
IS 'The place of the event among those of its commit, from 1.';
COMMENT ON COLUMN @extschema@.outbox.shard
IS 'The other shard that the target belongs to; NULL where it belongs here.';

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
    version integer NOT NULL DEFAULT 0,
    ord integer NOT NULL DEFAULT 0,
    shard text COLLATE "C",
    CONSTRAINT spawns_pkey PRIMARY KEY (seq)
);
COMMENT ON TABLE @extschema@.spawns
IS 'Child executions that commits asked for and that are not yet created, oldest first by seq.';
COMMENT ON COLUMN @extschema@.spawns.context
IS 'The context that the child starts with, as JSON text.';
COMMENT ON COLUMN @extschema@.spawns.version
IS
'The version that the parent came to by the commit that asked for the child; 0 where it was written before version '
'1.1, or in another program.';
COMMENT ON COLUMN @extschema@.spawns.ord
IS 'The place of the child among those that its commit asked for, from 1.';
COMMENT ON COLUMN @extschema@.spawns.shard
IS 'The other shard that the child belongs to; NULL where it belongs here.';

CREATE TABLE @extschema@.trace (
    execution_id text COLLATE "C" NOT NULL,
    idx integer NOT NULL,
    entry text NOT NULL,
    recorded_at timestamptz,
    CONSTRAINT trace_pkey PRIMARY KEY (execution_id, idx)
);
COMMENT ON TABLE @extschema@.trace
IS 'What happened to each execution; idx counts from 0, is never renumbered, and only the last ones may be kept.';
COMMENT ON COLUMN @extschema@.trace.recorded_at
IS 'When the transaction that wrote the entry began; NULL where that was before version 1.1, or in another program.';

-- The queue. A message belongs to a group, which is the id of the execution that it is for. The group's row is the lock
-- of its messages: publish, claim and settle take it first. Its messages are numbered without gaps from head to tail,
-- so that the next one is found by its key and not by stepping over those consumed before it. The numbers of a group
-- begin at the time in microseconds when it is made: one made again does not meet the index entries of its past.
CREATE TABLE @extschema@.transport_groups (
    group_id text COLLATE "C" NOT NULL,
    available_at double precision NOT NULL,
    head bigint NOT NULL,
    tail bigint NOT NULL,
    priority smallint NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    token uuid,
    worker text,
    claimed_at timestamptz,
    CONSTRAINT transport_groups_pkey PRIMARY KEY (group_id)
)
WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE @extschema@.transport_groups
IS 'One row a group with messages; gone once it is drained.';
COMMENT ON COLUMN @extschema@.transport_groups.available_at
IS
'When the first message can be claimed, in seconds since the epoch: the past while it waits, the deadline while it is '
'leased, Infinity while the execution is suspended.';
COMMENT ON COLUMN @extschema@.transport_groups.attempts
IS 'How often the first message has been delivered.';
COMMENT ON COLUMN @extschema@.transport_groups.token
IS 'Names the lease: whoever settles the message must know it. NULL while there is none.';

CREATE TABLE @extschema@.transport_messages (
    group_id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    event text NOT NULL,
    published_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT transport_messages_pkey PRIMARY KEY (group_id, seq)
)
WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE @extschema@.transport_messages
IS 'The messages of each group, first to last by seq; the first one may be leased.';

CREATE TABLE @extschema@.dead_letters (
    group_id text COLLATE "C" NOT NULL,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    seq bigint NOT NULL,
    event text NOT NULL,
    reason text NOT NULL,
    attempts integer NOT NULL,
    published_at timestamptz NOT NULL,
    delivered_at timestamptz,
    dead_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT dead_letters_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE @extschema@.dead_letters
IS 'Messages taken out of the queue without having been handled, until harel_redrive() puts them back.';
COMMENT ON COLUMN @extschema@.dead_letters.delivered_at
IS 'When the message was last delivered; NULL if never.';

-- The map of the shards, where the store is one of several. Empty otherwise, and then the register below has no value,
-- which is what the calls that concern another execution look at.
CREATE TABLE @extschema@.shards (
    name text COLLATE "C" NOT NULL,
    is_here boolean NOT NULL,
    joined_at timestamptz,
    CONSTRAINT shards_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE @extschema@.shards
IS 'The shards that share the executions among them, this one included; written once, by harel_join_shards().';
COMMENT ON COLUMN @extschema@.shards.is_here
IS 'Whether it is this store.';
COMMENT ON COLUMN @extschema@.shards.joined_at
IS 'When the map was written; NULL for a name that this store has before there is a map.';

CREATE SEQUENCE @extschema@.shards_joined;
COMMENT ON SEQUENCE @extschema@.shards_joined
IS 'Has a value once there is a map of the shards.';

CREATE TABLE @extschema@.shard_receipts (
    sender text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    receipt uuid NOT NULL,
    received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT shard_receipts_pkey PRIMARY KEY (sender, seq, receipt)
);
COMMENT ON TABLE @extschema@.shard_receipts
IS 'What other shards have sent, so that an event or a child handed in twice is taken once.';
COMMENT ON COLUMN @extschema@.shard_receipts.receipt
IS 'Derived from what was sent under the seq.';

-- Registers outside MVCC: a sequence is changed in place, so that whoever reads it never steps over old versions,
-- however long a snapshot is held, and no commit waits for it. They hold times in microseconds since the epoch. Nothing
-- is lost with them: they start anew after a restore, and are not dumped.
CREATE SEQUENCE @extschema@.transport_floor MINVALUE -9223372036854775807 START -9223372036854775807;
COMMENT ON SEQUENCE @extschema@.transport_floor
IS 'No group is looked for that was available before this time, but for those that harel__tend() lifts above it.';
CREATE SEQUENCE @extschema@.transport_tend_at MINVALUE 0 START 0;
COMMENT ON SEQUENCE @extschema@.transport_tend_at
IS 'When the floor is to be advanced next.';
CREATE SEQUENCE @extschema@.transport_lift_at MINVALUE 0 START 0;
COMMENT ON SEQUENCE @extschema@.transport_lift_at
IS 'When groups below the floor are to be looked for next.';
CREATE SEQUENCE @extschema@.transport_asleep_until MINVALUE 0 START 0;
COMMENT ON SEQUENCE @extschema@.transport_asleep_until
IS 'Until when some worker may be asleep: before that time whoever makes a message available sends a notification.';
-- Besides the primary keys. Each names the function that it serves.
--
-- The order of the first two is that of harel_list(): equality on what is filtered, then the id that pages go by.
-- Whether an execution is a root stands before the id, or a page of roots would have to step over every child.
-- None holds an expression over data, and version and updated_at are in none: a commit that keeps status,
-- definition and parent changes no index entry.

-- serves harel_list() with a definition, harel_definitions() and harel_flow()
CREATE INDEX executions_by_definition ON @extschema@.executions
(definition_id, status, (parent_id IS NULL), id);

-- serves harel_list() with statuses or roots only, over all definitions
CREATE INDEX executions_by_status ON @extschema@.executions
(status, (parent_id IS NULL), id);

-- serves harel_purge_finished(): longest finished first
CREATE INDEX executions_by_finish ON @extschema@.executions
(finished_at) WHERE finished_at IS NOT NULL;

-- serves all who look for an execution by its id. Younger than the indexes above, because these hold the id too: while
-- a table is empty all of its indexes seem equally cheap, and of such the planner takes the youngest.
ALTER TABLE @extschema@.executions ADD CONSTRAINT executions_pkey PRIMARY KEY (id);

-- serves harel_purge_processed(): oldest first. It grows at its right end only, so that its cost does not depend on how
-- large the ledger has become.
CREATE INDEX processed_events_by_time ON @extschema@.processed_events
(processed_at);

-- serves harel_due_timers(), harel_timers(), harel_fire_timers() and harel_tick(): earliest due first, ties in the
-- order of their keys
CREATE INDEX timers_by_fire_at ON @extschema@.timers
(fire_at, execution_id, path);

-- serves the commits and harel_delete_timer(); the youngest for the same reason
ALTER TABLE @extschema@.timers ADD CONSTRAINT timers_pkey PRIMARY KEY (execution_id, path);

-- serves harel_cancel(), harel_suspend(), harel_resume() and harel_tree(): the children of an execution. What is longer
-- than an id can be names no execution, and may not fit.
CREATE INDEX executions_by_parent ON @extschema@.executions
(parent_id) WHERE octet_length(parent_id) <= 1000;

-- serves harel_relay(), harel_foreign_outbox() and harel_waiting_shards(): broadcasts, which stay, are not in their
-- way, nor is to any of them what is for another shard. An outbox is empty whenever it is analyzed, and then a search
-- for one target would seem as cheap here as by the next index, had the condition the same words.
CREATE INDEX outbox_targeted ON @extschema@.outbox
(shard, seq) WHERE octet_length(target_id) >= 0;

-- serves harel_purge() by the first column, and harel_finish(): what one source still has in the outbox for a target
CREATE INDEX outbox_by_target ON @extschema@.outbox
(target_id, source_id) WHERE target_id IS NOT NULL;

-- serves harel_next(): whether an execution that does not exist is about to
CREATE INDEX spawns_by_child ON @extschema@.spawns
(child_id);

-- serves harel_purge() and harel_cancel(): the children that an execution has asked for
CREATE INDEX spawns_by_parent ON @extschema@.spawns
(parent_id);

-- serves harel_foreign_spawns() and harel_waiting_shards(): what is for one shard is not in the way of another's
CREATE INDEX spawns_by_shard ON @extschema@.spawns
(shard, seq) WHERE shard IS NOT NULL;

-- serves harel_claim(), harel_next(), harel_tick() and harel_queue(): longest available first
CREATE INDEX transport_groups_by_available ON @extschema@.transport_groups
(available_at);

-- serves harel_claim() and harel_next() from a priority on. The sum keeps them from the index above, which has the
-- order too, but on which they would step over every group of another priority.
CREATE INDEX transport_groups_by_priority ON @extschema@.transport_groups
(priority, (available_at + 0)) WHERE priority > 0;

-- serves harel_dead_letters(), harel_redrive() and harel_purge(): those of one group
CREATE INDEX dead_letters_by_group ON @extschema@.dead_letters
(group_id, dead_at, seq);

-- serves harel_dead_letters() and harel_redrive() over all groups
CREATE INDEX dead_letters_by_time ON @extschema@.dead_letters
(dead_at, seq);

-- serves harel_purge_receipts(): oldest first
CREATE INDEX shard_receipts_by_time ON @extschema@.shard_receipts
(received_at);
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
'Returns how many rows were taken over. Raises ST014, and ST001, ST002, ST003 or ST006 for a row that no store can '
'hold.';
REVOKE ALL ON FUNCTION @extschema@.harel_adopt(name, text) FROM PUBLIC;
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
                coalesce('Execution ' || quote_literal(left(p_id, 40)), 'A batch'),
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
    p_trace_max integer,
    p_commit_id uuid DEFAULT NULL
) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
DECLARE
    v_first bigint := 0;
    v_seq bigint;
    v_seqs bigint[] := '{}';
    v_idx integer;
    v_is_shard boolean := false;
    v_shards text[];
BEGIN
    IF NOT @extschema@.harel__swap(p_id, p_defn, p_data, p_old, p_event, p_commit_id) THEN
        RETURN NULL;
    END IF;
    -- Not by the defaults of the columns: those of a node are as the extension has made them there. Where there is no
    -- Citus, the function that knows need not be asked.
    IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL
        AND (p_emit_events IS NOT NULL OR p_spawn_children IS NOT NULL)
        AND @extschema@.harel__is_distributed()
    THEN
        v_first := @extschema@.harel__first_seq();
    END IF;

    -- See harel__swap().
    IF p_emit_targets IS NOT NULL OR p_spawn_children IS NOT NULL THEN
        v_is_shard := pg_sequence_last_value('@extschema@.shards_joined') IS NOT NULL;
    END IF;

    -- For the handful of rows of one commit, a loop over plain INSERTs is faster than one INSERT from unnest(). The
    -- shape of each list is tested here and again by harel__check_list() before it raises: to call that for every list
    -- of every commit would cost as much as an INSERT.
    IF p_emit_events IS NOT NULL OR p_emit_targets IS NOT NULL THEN
        IF array_dims(p_emit_targets) IS DISTINCT FROM array_dims(p_emit_events)
            OR array_ndims(p_emit_events) <> 1
            OR array_lower(p_emit_events, 1) <> 1
        THEN
            PERFORM @extschema@.harel__check_list(p_id, 'emits', array_dims(p_emit_targets), array_dims(p_emit_events));
        END IF;
        IF v_is_shard THEN
            v_shards := @extschema@.harel__elsewhere(p_emit_targets);
        END IF;
        FOR i IN 1 .. coalesce(cardinality(p_emit_events), 0) LOOP
            IF p_emit_events[i] IS NULL THEN
                PERFORM @extschema@.harel__refuse_item(p_id, 'emits', i);
            ELSIF octet_length(p_emit_targets[i]) NOT BETWEEN 1 AND 1000 THEN
                PERFORM @extschema@.harel__refuse_key(p_id, 'target id', p_emit_targets[i]);
            END IF;
            v_seq := v_first + nextval('@extschema@.outbox_seq_seq');
            INSERT INTO @extschema@.outbox (seq, target_id, event, source_id, version, ord, shard)
            VALUES (v_seq, p_emit_targets[i], p_emit_events[i], p_id, p_old + 1, i, v_shards[i]);
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
        IF v_is_shard THEN
            v_shards := @extschema@.harel__elsewhere(p_spawn_children);
        END IF;
        FOR i IN 1 .. coalesce(cardinality(p_spawn_children), 0) LOOP
            IF p_spawn_root_paths[i] IS NULL OR p_spawn_contexts[i] IS NULL THEN
                PERFORM @extschema@.harel__refuse_item(p_id, 'spawns', i);
            ELSIF (octet_length(p_spawn_children[i]) BETWEEN 1 AND 1000) IS NOT TRUE THEN
                PERFORM @extschema@.harel__refuse_key(p_id, 'child id', p_spawn_children[i]);
            END IF;
            v_seq := v_first + nextval('@extschema@.spawns_seq_seq');
            INSERT INTO @extschema@.spawns (seq, parent_id, child_id, root_path, context, version, ord, shard)
            VALUES (
                v_seq, p_id, p_spawn_children[i], p_spawn_root_paths[i], p_spawn_contexts[i], p_old + 1, i, v_shards[i]
            );
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
    text[], text[], text[], double precision[], text, integer, uuid
) IS
'Internal. The outbox seqs of a commit, or NULL where it lost; harel_commit() without its answer to a serialization '
'failure.';
REVOKE ALL ON FUNCTION @extschema@.harel__commit(
    text, text, text, bigint, text, text[], text[], text[], text[],
    text[], text[], text[], double precision[], text, integer, uuid
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
    p_commit_id uuid DEFAULT NULL,
    OUT committed boolean,
    OUT stored_version integer,
    OUT outbox_seqs bigint[]
) RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
BEGIN
    -- See harel_commit_cas() for the two ways.
    IF current_setting('transaction_isolation') = 'read committed' THEN
        outbox_seqs := @extschema@.harel__commit(
            p_id, p_defn, p_data, p_old, p_event, p_emit_targets, p_emit_events,
            p_spawn_children, p_spawn_root_paths, p_spawn_contexts,
            p_timer_actions, p_timer_paths, p_timer_fire_ats, p_trace, p_trace_max, p_commit_id
        );
    ELSE
        BEGIN
            outbox_seqs := @extschema@.harel__commit(
                p_id, p_defn, p_data, p_old, p_event, p_emit_targets, p_emit_events,
                p_spawn_children, p_spawn_root_paths, p_spawn_contexts,
                p_timer_actions, p_timer_paths, p_timer_fire_ats, p_trace, p_trace_max, p_commit_id
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
    text[], text[], text[], double precision[], text, integer, uuid
) IS
'harel_commit_cas() and, if it commits, what the step caused: events to the outbox in the order given (a NULL '
'target is a broadcast), spawns, timer operations in order (schedule replaces the time of its path, cancel '
'disarms it; seconds since the epoch) and a trace entry, of which the last p_trace_max are kept (0 or NULL: all). '
'Returns whether it committed, the version now stored (on a conflict the one found: NULL where there is no such '
'execution, or where the snapshot of a stricter isolation level hides it) and the seqs of the outbox rows in the '
'order given. By p_commit_id, a random one for each commit, harel_outcome() knows it again. Raises ST001 to ST006.';
REVOKE ALL ON FUNCTION @extschema@.harel_commit(
    text, text, text, bigint, text, text[], text[], text[], text[],
    text[], text[], text[], double precision[], text, integer, uuid
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

-- Volatile, or the planner would call it to know what it returns.
CREATE FUNCTION @extschema@.harel__refuse_trace(p_id text) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = 'ST002',
        MESSAGE = 'a trace has no entry after number 2147483647',
        DETAIL = format('Execution %L.', left(p_id, 40)),
        HINT = 'Go on without a trace, or with another execution in its place.';
END
$$;
COMMENT ON FUNCTION @extschema@.harel__refuse_trace(text)
IS 'Internal. Raises ST002 for a trace whose numbers are used up.';
REVOKE ALL ON FUNCTION @extschema@.harel__refuse_trace(text) FROM PUBLIC;

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
    IF to_regclass('pg_catalog.pg_dist_partition') IS NULL THEN
        INSERT INTO @extschema@.trace (execution_id, idx, entry, recorded_at)
        VALUES (
            p_id,
            coalesce(1 + (
                SELECT CASE WHEN t.idx < 2147483647 THEN t.idx ELSE @extschema@.harel__refuse_trace(p_id) END
                FROM @extschema@.trace t
                WHERE t.execution_id = p_id
                ORDER BY t.idx DESC
                LIMIT 1
            ), 0),
            p_entry,
            now()
        )
        RETURNING idx INTO v_idx;
    ELSE
        -- Citus takes no query within an INSERT.
        SELECT t.idx INTO v_idx FROM @extschema@.trace t WHERE t.execution_id = p_id ORDER BY t.idx DESC LIMIT 1;
        IF v_idx = 2147483647 THEN
            PERFORM @extschema@.harel__refuse_trace(p_id);
        END IF;
        v_idx := coalesce(v_idx + 1, 0);
        INSERT INTO @extschema@.trace (execution_id, idx, entry, recorded_at) VALUES (p_id, v_idx, p_entry, now());
    END IF;
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
SET enable_seqscan = off
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
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
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

-- A slice of an array copies all of the array first: done for each commit of a long batch, that takes longest of all.
CREATE FUNCTION @extschema@.harel__part(p_list anyarray, p_first integer, p_last integer) RETURNS anyarray
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_part p_list%TYPE := '{}';
BEGIN
    FOR i IN p_first .. p_last LOOP
        v_part := v_part || p_list[i];
    END LOOP;
    RETURN v_part;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__part(anyarray, integer, integer)
IS 'Internal. The elements of a list from one position to another.';
REVOKE ALL ON FUNCTION @extschema@.harel__part(anyarray, integer, integer) FROM PUBLIC;

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
            CASE WHEN e <= v_emit_ends[i] THEN @extschema@.harel__part(p_emit_targets, e, v_emit_ends[i]) END,
            CASE WHEN e <= v_emit_ends[i] THEN @extschema@.harel__part(p_emit_events, e, v_emit_ends[i]) END,
            CASE WHEN s <= v_spawn_ends[i] THEN @extschema@.harel__part(p_spawn_children, s, v_spawn_ends[i]) END,
            CASE WHEN s <= v_spawn_ends[i] THEN @extschema@.harel__part(p_spawn_root_paths, s, v_spawn_ends[i]) END,
            CASE WHEN s <= v_spawn_ends[i] THEN @extschema@.harel__part(p_spawn_contexts, s, v_spawn_ends[i]) END,
            CASE WHEN t <= v_timer_ends[i] THEN @extschema@.harel__part(p_timer_actions, t, v_timer_ends[i]) END,
            CASE WHEN t <= v_timer_ends[i] THEN @extschema@.harel__part(p_timer_paths, t, v_timer_ends[i]) END,
            CASE WHEN t <= v_timer_ends[i] THEN @extschema@.harel__part(p_timer_fire_ats, t, v_timer_ends[i]) END,
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
    SELECT
        b.id, v_committed[b.place], v_versions[b.place],
        @extschema@.harel__part(v_seqs, v_seq_starts[b.place], v_seq_ends[b.place])
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
-- A client that loses its connection in a commit does not know whether it was carried out. To make the same commit
-- again is safe, as only one of the two can win; where it loses, this function says to whom.
CREATE FUNCTION @extschema@.harel_outcome(
    p_id text,
    p_old bigint,
    p_commit_id uuid,
    p_event text DEFAULT NULL,
    OUT outcome text,
    OUT stored_version integer,
    OUT outbox_seqs bigint[]
) RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
    v_commit_id uuid;
    v_xmin xid;
    v_is_copied boolean;
BEGIN
    IF p_id IS NULL OR p_old IS NULL OR p_commit_id IS NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST001',
            MESSAGE = 'a commit is named by its execution, the version that it was based on, and its commit id',
            DETAIL = format('Execution %s: one of the three is NULL.', coalesce(quote_literal(left(p_id, 40)), 'NULL')),
            HINT = 'Pass what was passed to harel_commit_cas() or harel_commit().';
    END IF;
    -- A backend that was ended while it waited for a standby has left a commit that can be seen and may still be lost.
    -- The lock makes this a transaction that waits for the standby in its turn, and for what came before it.
    SELECT e.version, e.commit_id, e.xmin
    INTO stored_version, v_commit_id, v_xmin
    FROM @extschema@.executions e
    WHERE e.id = p_id
    FOR NO KEY UPDATE;
    outbox_seqs := '{}';
    IF v_commit_id = p_commit_id THEN
        outcome := 'committed';
        -- Written by the transaction that wrote the version, and not by an earlier execution of this id; on a cluster
        -- rows may have been copied since. It reads the whole outbox, for once.
        v_is_copied := @extschema@.harel__is_distributed();
        outbox_seqs := ARRAY(
            SELECT o.seq FROM @extschema@.outbox o
            WHERE o.source_id = p_id AND o.version = stored_version AND (o.xmin = v_xmin OR v_is_copied)
            ORDER BY o.ord
        );
    ELSIF stored_version - 1 <= p_old OR stored_version IS NOT NULL AND p_event <> '' THEN
        outcome := 'conflict';
    ELSE
        outcome := 'unknown';
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_outcome(text, bigint, uuid, text)
IS
'What became of a commit that called itself p_commit_id and whose answer was lost, once the same commit, made again, '
'has lost: the outcome, the version now stored (NULL where there is no such execution) and, if it committed, the seqs '
'of its outbox rows, as far as they are still there. The outcome is committed; conflict, where nothing of it was '
'written, or where others have committed since and the ledger tells whether p_event was handled: load the execution '
'for the event again; or unknown, where others have committed since, or have purged the execution, and nothing tells. '
'Raises ST001 for NULL.';
REVOKE ALL ON FUNCTION @extschema@.harel_outcome(text, bigint, uuid, text) FROM PUBLIC;
CREATE FUNCTION @extschema@.harel_pending_outbox(p_limit integer DEFAULT NULL)
RETURNS TABLE (seq bigint, target_id text, event text, source_id text)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF @extschema@.harel__is_distributed() THEN
        -- There a seq tells nothing of the order.
        RETURN QUERY
        SELECT o.seq, o.target_id, o.event, nullif(o.source_id, '')
        FROM @extschema@.outbox o
        ORDER BY o.source_id, o.version, o.ord, o.seq
        LIMIT p_limit;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT o.seq, o.target_id, o.event, o.source_id
    FROM @extschema@.outbox o
    ORDER BY o.seq
    LIMIT p_limit;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_pending_outbox(integer)
IS
'The events waiting to be sent, oldest first, at most p_limit (NULL: all), with the execution that each is for (NULL: '
'a broadcast) and the one that emitted it. Raises ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_pending_outbox(integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_ack_outbox(p_seq bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
    v_count integer;
BEGIN
    IF p_seq IS NULL THEN
        PERFORM @extschema@.harel__refuse_seq();
    END IF;
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_settle_outbox(ARRAY[p_seq]);
    END IF;
    DELETE FROM @extschema@.outbox o WHERE o.seq = p_seq;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_ack_outbox(bigint)
IS 'Removes an event that has been sent; returns 1, or 0 where it was not pending. Raises ST001 for NULL.';
REVOKE ALL ON FUNCTION @extschema@.harel_ack_outbox(bigint) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_take_outbox(p_limit integer DEFAULT NULL)
RETURNS TABLE (seq bigint, target_id text, event text, source_id text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY SELECT * FROM @extschema@.harel__everywhere_take_outbox(p_limit);
        RETURN;
    END IF;
    RETURN QUERY
    SELECT o.seq, o.target_id, o.event, o.source_id
    FROM @extschema@.outbox o
    ORDER BY o.seq
    LIMIT p_limit
    FOR UPDATE SKIP LOCKED;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_take_outbox(integer)
IS
'harel_pending_outbox() for a transaction that is going to send the events: it locks them until its end, and passes '
'over those that another has locked. Raises ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_take_outbox(integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_settle_outbox(p_seqs bigint[]) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
    v_count integer;
BEGIN
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_settle_outbox(p_seqs);
    END IF;
    DELETE FROM @extschema@.outbox o WHERE o.seq = ANY (p_seqs);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_settle_outbox(bigint[])
IS 'Removes events that have been sent; returns how many of them were pending.';
REVOKE ALL ON FUNCTION @extschema@.harel_settle_outbox(bigint[]) FROM PUBLIC;
CREATE FUNCTION @extschema@.harel_pending_spawns(p_limit integer DEFAULT NULL)
RETURNS TABLE (seq bigint, parent_id text, child_id text, root_path text, context text)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY
        SELECT s.seq, s.parent_id, s.child_id, s.root_path, s.context
        FROM @extschema@.spawns s
        ORDER BY s.parent_id, s.version, s.ord, s.seq
        LIMIT p_limit;
        RETURN;
    END IF;
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
SET enable_seqscan = off
AS $$
DECLARE
    v_count integer;
BEGIN
    IF p_seq IS NULL THEN
        PERFORM @extschema@.harel__refuse_seq();
    END IF;
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_ack_spawn(p_seq);
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
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
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
SET enable_seqscan = off
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
        PERFORM @extschema@.harel__refuse_time(
            format('Execution %L, timer %L', left(p_id, 40), left(p_path, 40)), p_fire_at
        );
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
-- A cursor is the last id of a page, with a mark to know it by and a checksum against one cut short. The bytes of the
-- id are those of the database: not every encoding can be converted, and SQL_ASCII takes bytes that are none.
CREATE FUNCTION @extschema@.harel__cursor(p_id text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id bytea := convert_to(p_id, getdatabaseencoding());
BEGIN
    RETURN replace(
        encode(decode('68317c', 'hex') || substr(sha256(v_id), 1, 4) || v_id, 'base64'), chr(10), ''
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel__cursor(text)
IS 'Internal. The cursor for the page after an id.';
REVOKE ALL ON FUNCTION @extschema@.harel__cursor(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_cursor(p_id text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_id IS NULL THEN
        PERFORM @extschema@.harel__refuse_key(p_id, 'execution id', p_id);
    END IF;
    RETURN @extschema@.harel__cursor(p_id);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_cursor(text)
IS
'A cursor of harel_list() for the page that begins after an id, whether or not it exists: for who merges the pages of '
'several stores. Raises ST001 for NULL.';
REVOKE ALL ON FUNCTION @extschema@.harel_cursor(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__cursor_id(p_cursor text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id text;
BEGIN
    BEGIN
        v_id := convert_from(substr(decode(p_cursor, 'base64'), 8), getdatabaseencoding());
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
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
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
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY
        SELECT * FROM @extschema@.harel__everywhere_list(p_definition_id, p_statuses, p_roots_only, v_after, v_fetch);
        RETURN;
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
    -- Not a plain join: see 80_publish.sql.
    CROSS JOIN LATERAL (
        SELECT * FROM @extschema@.executions x
        WHERE x.id = p.id
        OFFSET 0
    ) e
    ORDER BY p.place;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_list(text, text[], boolean, integer, text)
IS
'A page of executions in the order of their ids (as bytes), without their data: those of one definition, in any '
'of some statuses, or roots only (NULL or false: no such filter). The last row''s next_cursor, if not NULL, brings '
'the next page. Pages neither repeat nor skip a row while others are inserted and deleted. Raises ST007 or ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_list(text, text[], boolean, integer, text) FROM PUBLIC;
-- What a monitor asks every few seconds. Nothing large is counted to its end: totals up to a thousand rows, and beyond
-- that they are what the planner would expect, which autovacuum keeps current; what a condition selects, up to ten
-- thousand.
CREATE FUNCTION @extschema@.harel__estimate(p_counted bigint, p_table regclass, p_status text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_rows double precision;
BEGIN
    IF p_counted < 1000 THEN
        RETURN p_counted;
    END IF;
    -- As the planner does it: so many rows a page, and so many pages now. A table never analyzed has -1.
    SELECT c.reltuples / greatest(c.relpages, 1) * pg_relation_size(c.oid) / current_setting('block_size')::integer
    INTO v_rows
    FROM pg_class c
    WHERE c.oid = p_table;
    IF p_status IS NOT NULL THEN
        v_rows := v_rows * (
            SELECT f.frequency
            FROM pg_stats s
            CROSS JOIN LATERAL unnest(s.most_common_vals::text::text[], s.most_common_freqs) AS f (status, frequency)
            WHERE format('%I.%I', s.schemaname, s.tablename)::regclass = p_table
                AND s.attname = 'status'
                AND f.status = p_status
        );
    END IF;
    RETURN greatest(p_counted, coalesce(v_rows, 0)::bigint);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__estimate(bigint, regclass, text)
IS 'Internal. A count that was broken off at 1000 as an estimate of the rows of a table, or of those with a status.';
REVOKE ALL ON FUNCTION @extschema@.harel__estimate(bigint, regclass, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_stats(
    p_now double precision DEFAULT NULL,
    OUT executions jsonb,
    OUT queued bigint,
    OUT oldest_wait double precision,
    OUT leased bigint,
    OUT outbox bigint,
    OUT broadcasts bigint,
    OUT spawns bigint,
    OUT timers bigint,
    OUT overdue_timers bigint,
    OUT oldest_overdue double precision,
    OUT dead_letters bigint,
    OUT processed_events bigint
) RETURNS record
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_status text COLLATE "C";
BEGIN
    IF @extschema@.harel__is_distributed() THEN
        SELECT s.* INTO
            executions, queued, oldest_wait, leased, outbox, broadcasts, spawns, timers, overdue_timers, oldest_overdue,
            dead_letters, processed_events
        FROM @extschema@.harel__everywhere_stats(v_now) s;
        RETURN;
    END IF;
    executions := '{}';
    -- From each status to the next by a descent of the index. An application may have any number of them.
    v_status := (SELECT min(e.status) FROM @extschema@.executions e);
    FOR i IN 1 .. 100 LOOP
        EXIT WHEN v_status IS NULL;
        executions := executions || jsonb_build_object(v_status, @extschema@.harel__estimate(
            (SELECT count(*) FROM (SELECT FROM @extschema@.executions e WHERE e.status = v_status LIMIT 1000) e),
            '@extschema@.executions',
            v_status
        ));
        v_status := (SELECT min(e.status) FROM @extschema@.executions e WHERE e.status > v_status);
    END LOOP;

    queued := @extschema@.harel__estimate(
        (SELECT count(*) FROM (SELECT FROM @extschema@.transport_messages LIMIT 1000) m),
        '@extschema@.transport_messages'
    );
    -- Nothing waits below the floor of the queue for longer than a moment.
    oldest_wait := v_now - (
        SELECT greatest(g.available_at, -1e15)
        FROM @extschema@.transport_groups g
        WHERE g.available_at >= (
            SELECT (f.last_value / 1000000.0)::double precision FROM @extschema@.transport_floor f
        )
        AND g.available_at <= v_now
        ORDER BY g.available_at
        LIMIT 1
    );
    leased := (
        SELECT count(*) FROM (
            SELECT FROM @extschema@.transport_groups g
            WHERE g.available_at > v_now AND g.available_at < 'Infinity' AND g.token IS NOT NULL
            LIMIT 10000
        ) g
    );
    outbox := (
        SELECT count(*) FROM (SELECT FROM @extschema@.outbox o WHERE o.target_id IS NOT NULL LIMIT 10000) o
    );
    broadcasts := greatest(0, @extschema@.harel__estimate(
        (SELECT count(*) FROM (SELECT FROM @extschema@.outbox LIMIT 1000) o), '@extschema@.outbox'
    ) - outbox);
    spawns := @extschema@.harel__estimate(
        (SELECT count(*) FROM (SELECT FROM @extschema@.spawns LIMIT 1000) s), '@extschema@.spawns'
    );
    timers := @extschema@.harel__estimate(
        (SELECT count(*) FROM (SELECT FROM @extschema@.timers LIMIT 1000) t), '@extschema@.timers'
    );
    overdue_timers := (
        SELECT count(*) FROM (SELECT FROM @extschema@.timers t WHERE t.fire_at <= v_now LIMIT 10000) t
    );
    oldest_overdue := v_now - (
        SELECT greatest(t.fire_at, -1e15) FROM @extschema@.timers t
        WHERE t.fire_at <= v_now
        ORDER BY t.fire_at, t.execution_id, t.path
        LIMIT 1
    );
    dead_letters := @extschema@.harel__estimate(
        (SELECT count(*) FROM (SELECT FROM @extschema@.dead_letters LIMIT 1000) d), '@extschema@.dead_letters'
    );
    processed_events := @extschema@.harel__estimate(
        (SELECT count(*) FROM (SELECT FROM @extschema@.processed_events LIMIT 1000) p), '@extschema@.processed_events'
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel_stats(double precision)
IS
'The state of the store in one row: executions by status (an object), messages queued, and seconds for which the first '
'that can be claimed has waited (NULL: none waits), messages leased, events in the outbox that have a target and '
'broadcasts, spawns, timers, those overdue and by how many seconds the first, dead letters, and events in the ledger. '
'Totals below 1000 are exact and greater ones the estimate of the planner; leased, outbox and overdue_timers are '
'counted, up to 10000. It takes milliseconds, however large the store is. Raises ST006.';
REVOKE ALL ON FUNCTION @extschema@.harel_stats(double precision) FROM PUBLIC;
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
-- What people look at: the command line, the console and psql. No worker needs any of it.

-- An entry tells of its step by members that our clients and adapters write: `event`, the kind of what was handled (or
-- an object with a `kind`), `from` and `to`, paths, and `at`, seconds since the epoch.
CREATE FUNCTION @extschema@.harel__step(
    p_entry text, OUT event text, OUT source text, OUT target text, OUT at timestamptz
) RETURNS record
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_entry jsonb;
    v_json json;
BEGIN
    BEGIN
        v_entry := p_entry::jsonb;
    EXCEPTION WHEN data_exception OR program_limit_exceeded OR feature_not_supported OR internal_error THEN
        BEGIN
            -- jsonb holds less than JSON allows.
            v_json := @extschema@.harel__decodable(p_entry);
            v_entry := jsonb_build_object(
                'event', CASE json_typeof(v_json -> 'event')
                    WHEN 'object' THEN v_json #>> '{event,kind}'
                    ELSE v_json ->> 'event'
                END,
                'from', v_json ->> 'from',
                'to', v_json ->> 'to',
                'at', CASE
                    WHEN json_typeof(v_json -> 'at') = 'number' AND v_json ->> 'at' ~ '^-?[0-9.]{1,40}$'
                        THEN (v_json ->> 'at')::numeric
                END
            );
        EXCEPTION WHEN data_exception OR program_limit_exceeded OR feature_not_supported THEN
            RETURN;
        END;
    END;
    event := CASE jsonb_typeof(v_entry -> 'event')
        WHEN 'object' THEN v_entry #>> '{event,kind}'
        ELSE v_entry ->> 'event'
    END;
    source := v_entry ->> 'from';
    target := v_entry ->> 'to';
    -- Within the years that a timestamp can hold.
    IF jsonb_typeof(v_entry -> 'at') = 'number' AND abs((v_entry ->> 'at')::numeric) < 200000000000 THEN
        at := to_timestamp(round((v_entry ->> 'at')::numeric, 6)::double precision);
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__step(text)
IS 'Internal. What a trace entry tells of its step; NULL what it does not, as where it is not a JSON object.';
REVOKE ALL ON FUNCTION @extschema@.harel__step(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_timeline(p_id text, p_after integer DEFAULT NULL, p_limit integer DEFAULT NULL)
RETURNS TABLE (
    idx integer, at timestamptz, dwell double precision, event text, source text, target text, entry text
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    RETURN QUERY
    SELECT s.idx, s.at, s.dwell, s.event, s.source, s.target, s.entry
    FROM (
        SELECT
            t.idx,
            coalesce(r.at, t.recorded_at) AS at,
            extract(
                epoch FROM coalesce(r.at, t.recorded_at) - lag(coalesce(r.at, t.recorded_at)) OVER earlier
            )::double precision AS dwell,
            r.event,
            coalesce(r.source, lag(r.target) OVER earlier) AS source,
            r.target,
            t.entry,
            row_number() OVER (ORDER BY t.idx DESC) AS place
        FROM (
            SELECT t.idx, t.recorded_at, t.entry
            FROM @extschema@.trace t
            WHERE t.execution_id = p_id AND t.idx >= coalesce(p_after, 0)
            ORDER BY t.idx DESC
            -- One more, to know how long the state before the first was.
            LIMIT p_limit::bigint + 1
        ) t
        CROSS JOIN LATERAL @extschema@.harel__step(t.entry) r
        WINDOW earlier AS (ORDER BY t.idx)
    ) s
    WHERE s.idx > coalesce(p_after, -1) AND (p_limit IS NULL OR s.place <= p_limit)
    ORDER BY s.idx;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_timeline(text, integer, integer)
IS
'The trace of an execution, oldest entry first, with what each tells of its step: the event''s kind, the states it '
'leads from and to (members event, from and to of the entry; without from, the state that the entry before led to), '
'when it was (member at, seconds since the epoch, or else recorded_at), and dwell, the seconds since the entry before. '
'Of the entries numbered higher than p_after (NULL: of all) the last p_limit (NULL: all). Raises ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_timeline(text, integer, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_tree(p_id text, p_limit integer DEFAULT 100)
RETURNS TABLE (
    depth integer, id text, parent_id text, definition_id text, status text, outcome text, active_path text,
    version integer, created_at timestamptz, updated_at timestamptz, finished_at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY SELECT * FROM @extschema@.harel__everywhere_tree(p_id, p_limit);
        RETURN;
    END IF;
    RETURN QUERY
    WITH RECURSIVE tree (id, ids) AS (
        SELECT e.id, ARRAY[e.id] FROM @extschema@.executions e WHERE e.id = p_id
        UNION ALL
        SELECT b.id, b.ids
        FROM (
            SELECT c.id, t.ids || c.id AS ids
            FROM tree t
            CROSS JOIN LATERAL (
                SELECT e.id FROM @extschema@.executions e
                WHERE e.parent_id = t.id AND octet_length(e.parent_id) <= 1000
                ORDER BY e.id
                LIMIT p_limit
            ) c
            -- Whoever writes a parent may write a circle.
            WHERE c.id <> ALL (t.ids)
                -- What has so many before it, above it or beside it, is not among the first.
                AND (p_limit IS NULL OR cardinality(t.ids) < p_limit)
            ORDER BY t.ids, c.id
            LIMIT p_limit
        ) b
    )
    SELECT
        cardinality(t.ids) - 1, e.id, e.parent_id, e.definition_id, nullif(e.status, ''), e.outcome, e.active_path,
        e.version, e.created_at, e.updated_at, e.finished_at
    FROM tree t
    CROSS JOIN LATERAL (SELECT * FROM @extschema@.executions x WHERE x.id = t.id OFFSET 0) e
    ORDER BY t.ids
    LIMIT p_limit;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_tree(text, integer)
IS
'An execution (depth 0) and below it its children, their children and so on, each under its parent in the order of the '
'ids, without their data; at most p_limit rows (NULL: all), none where there is no such execution. Raises ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_tree(text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_timers(p_id text DEFAULT NULL, p_limit integer DEFAULT NULL)
RETURNS TABLE (execution_id text, path text, fire_at double precision)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF p_id IS NULL THEN
        RETURN QUERY SELECT * FROM @extschema@.harel_due_timers('Infinity', p_limit);
    ELSE
        RETURN QUERY
        SELECT t.execution_id, t.path, t.fire_at
        FROM @extschema@.timers t
        WHERE t.execution_id = p_id
        ORDER BY t.fire_at, t.path
        LIMIT p_limit;
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_timers(text, integer)
IS
'The timers that are armed, due or not, earliest first, at most p_limit (NULL: all), of one execution (NULL: of all). '
'Raises ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_timers(text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_queue(
    p_id text DEFAULT NULL,
    p_state text DEFAULT NULL,
    p_limit integer DEFAULT 100,
    p_now double precision DEFAULT NULL
) RETURNS TABLE (
    group_id text, state text, seconds double precision, messages bigint, attempts integer, priority smallint,
    worker text, event text, published_at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_after double precision;
    v_until double precision := 'Infinity';
    v_ids text[] := ARRAY[p_id];
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF p_state NOT IN ('waiting', 'leased', 'delayed', 'held') THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST015',
            MESSAGE = 'unknown state of a group',
            DETAIL = format('The state is %L.', left(p_state, 40)),
            HINT = 'Pass waiting, leased, delayed or held, or NULL for all.';
    END IF;
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY SELECT * FROM @extschema@.harel__everywhere_queue(p_id, p_state, p_limit, v_now);
        RETURN;
    END IF;
    IF p_id IS NULL AND p_state = 'leased' THEN
        v_ids := ARRAY(
            SELECT g.group_id FROM @extschema@.transport_groups g
            WHERE g.available_at > v_now AND g.available_at < 'Infinity' AND g.token IS NOT NULL
            ORDER BY g.claimed_at, g.group_id
            LIMIT p_limit
        );
    ELSIF p_id IS NULL THEN
        -- Nothing waits below the floor of the queue for longer than a moment.
        v_after := (SELECT (f.last_value / 1000000.0)::double precision - 1 FROM @extschema@.transport_floor f);
        CASE p_state
            WHEN 'waiting' THEN v_until := v_now;
            WHEN 'delayed' THEN v_after := v_now; v_until := 1.7e308;
            WHEN 'held' THEN v_after := 1.7e308;
            ELSE NULL;
        END CASE;
        v_ids := ARRAY(
            SELECT g.group_id FROM @extschema@.transport_groups g
            WHERE g.available_at > v_after AND g.available_at <= v_until
                AND (p_state IS DISTINCT FROM 'delayed' OR g.token IS NULL)
            ORDER BY g.available_at
            LIMIT p_limit
        );
    END IF;
    RETURN QUERY
    SELECT
        g.group_id, g.state,
        CASE g.state
            WHEN 'waiting' THEN v_now - greatest(g.available_at, -1e15)
            WHEN 'leased' THEN v_now - extract(epoch FROM g.claimed_at)::double precision
            WHEN 'delayed' THEN g.available_at - v_now
        END,
        g.messages, g.attempts, g.priority, CASE WHEN g.state = 'leased' THEN g.worker END, m.event, m.published_at
    FROM unnest(v_ids) WITH ORDINALITY AS i (id, place)
    CROSS JOIN LATERAL (
        SELECT
            x.*,
            x.tail - x.head + 1 AS messages,
            CASE
                WHEN x.available_at = 'Infinity' THEN 'held'
                WHEN x.available_at <= v_now THEN 'waiting'
                WHEN x.token IS NULL THEN 'delayed'
                ELSE 'leased'
            END AS state
        FROM @extschema@.transport_groups x
        WHERE x.group_id = i.id
        OFFSET 0
    ) g
    CROSS JOIN LATERAL (
        SELECT * FROM @extschema@.transport_messages x
        WHERE x.group_id = g.group_id AND x.seq = g.head
        OFFSET 0
    ) m
    WHERE p_state IS NULL OR g.state = p_state
    ORDER BY i.place
    LIMIT p_limit;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_queue(text, text, integer, double precision)
IS
'The groups that have messages, at most p_limit (NULL: all), one group (p_id; NULL: all), or those in one state: '
'waiting (for a worker, for so many seconds; longest first), leased (to a worker, for so many seconds since it was '
'claimed; longest first where p_state asks for it), delayed (for so many seconds to come) or held (while the execution '
'is suspended; seconds is NULL). Each with the number of its messages, its first one, and how often that was '
'delivered. Raises ST006, ST008 or ST015.';
REVOKE ALL ON FUNCTION @extschema@.harel_queue(text, text, integer, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_definitions()
RETURNS TABLE (definition_id text, status text, executions bigint)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY SELECT * FROM @extschema@.harel__everywhere_definitions();
        RETURN;
    END IF;
    RETURN QUERY
    WITH RECURSIVE found (definition_id, status) AS (
        (
            SELECT e.definition_id, e.status FROM @extschema@.executions e
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
    )
    SELECT f.definition_id, nullif(f.status, ''), (
        SELECT count(*) FROM (
            SELECT FROM @extschema@.executions e
            -- Compared as a pair, so that no index but the one by definition can serve.
            WHERE (e.definition_id, e.status) >= (f.definition_id, f.status)
                AND (e.definition_id, e.status) <= (f.definition_id, f.status)
            LIMIT 10000
        ) e
    )
    FROM (SELECT * FROM found LIMIT 1000) f;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_definitions()
IS
'The definitions that there are executions of, with the number of these in each status, counted up to 10000; at most '
'1000 rows.';
REVOKE ALL ON FUNCTION @extschema@.harel_definitions() FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_activity(
    OUT at timestamptz,
    OUT commits bigint,
    OUT published bigint,
    OUT settled bigint,
    OUT processed_events bigint,
    OUT emitted bigint,
    OUT dead_letters bigint
) RETURNS record
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF @extschema@.harel__is_distributed() THEN
        SELECT a.* INTO at, commits, published, settled, processed_events, emitted, dead_letters
        FROM @extschema@.harel__everywhere_activity() a;
        RETURN;
    END IF;
    at := clock_timestamp();
    commits := pg_stat_get_tuples_inserted('@extschema@.executions'::regclass)
        + pg_stat_get_tuples_updated('@extschema@.executions'::regclass);
    published := pg_stat_get_tuples_inserted('@extschema@.transport_messages'::regclass);
    settled := pg_stat_get_tuples_deleted('@extschema@.transport_messages'::regclass);
    processed_events := pg_stat_get_tuples_inserted('@extschema@.processed_events'::regclass);
    emitted := pg_stat_get_tuples_inserted('@extschema@.outbox'::regclass);
    dead_letters := pg_stat_get_tuples_inserted('@extschema@.dead_letters'::regclass);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_activity()
IS
'How much has been done since the statistics of the server began, by what PostgreSQL counts for its tables (about a '
'second late, transactions rolled back included): writes of executions, messages published and settled, events '
'handled, events put into the outbox, dead letters. Two calls make a rate: the difference, by that of their at.';
REVOKE ALL ON FUNCTION @extschema@.harel_activity() FROM PUBLIC;
-- A statechart as it really runs, found in the traces: process mining, in the sense of a directly-follows graph
-- (van der Aalst, Process Mining, 2016), with states for nodes.
CREATE FUNCTION @extschema@.harel__sample(p_definition_id text, p_limit integer)
RETURNS TABLE (
    id text, active_path text, updated_at timestamptz, has_ended boolean, is_beyond boolean
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
BEGIN
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY
        SELECT e.id, e.active_path, e.updated_at, e.status IN ('DONE', 'CANCELLED', 'FAILED'), e.place > p_limit
        FROM (
            SELECT e.*, row_number() OVER (PARTITION BY e.status, e.is_root ORDER BY e.id COLLATE "C" DESC) AS place
            FROM @extschema@.harel__everywhere_sample(p_definition_id, p_limit) e
        ) e
        WHERE p_limit IS NULL OR e.place <= p_limit::bigint + 1;
        RETURN;
    END IF;
    RETURN QUERY
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
    -- Each is one range of executions_by_definition, of which no more is read than is taken.
    SELECT e.id, e.active_path, e.updated_at, e.has_ended, e.place > p_limit
    FROM (SELECT * FROM found f WHERE f.definition_id = p_definition_id) f
    CROSS JOIN (VALUES (true), (false)) AS r (is_root)
    CROSS JOIN LATERAL (
        SELECT
            e.id, e.active_path, e.updated_at, e.status IN ('DONE', 'CANCELLED', 'FAILED') AS has_ended,
            row_number() OVER () AS place
        FROM (
            SELECT e.id, e.active_path, e.updated_at, e.status
            FROM @extschema@.executions e
            WHERE e.definition_id = p_definition_id AND e.status = f.status AND (e.parent_id IS NULL) = r.is_root
            ORDER BY e.id DESC
            LIMIT p_limit::bigint + 1
        ) e
    ) e;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__sample(text, integer)
IS
'Internal. harel_flow(): of each status, roots and children each, the executions of a definition that have the p_limit '
'greatest ids (NULL: all), and one beyond where there are more.';
REVOKE ALL ON FUNCTION @extschema@.harel__sample(text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__entries(p_ids text[])
RETURNS TABLE (
    execution_id text, idx integer, event text, source text, target text, at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
BEGIN
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY SELECT * FROM @extschema@.harel__everywhere_entries(p_ids);
        RETURN;
    END IF;
    RETURN QUERY
    SELECT t.execution_id, t.idx, r.event, r.source, r.target, coalesce(r.at, t.recorded_at)
    FROM unnest(p_ids) AS e (id)
    CROSS JOIN LATERAL (
        SELECT x.execution_id, x.idx, x.entry, x.recorded_at
        FROM @extschema@.trace x
        WHERE x.execution_id = e.id
        OFFSET 0
    ) t
    CROSS JOIN LATERAL @extschema@.harel__step(t.entry) r;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__entries(text[])
IS 'Internal. harel_flow(): what the trace entries of some executions tell.';
REVOKE ALL ON FUNCTION @extschema@.harel__entries(text[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_flow(
    p_definition_id text,
    p_limit integer DEFAULT 5000,
    p_now double precision DEFAULT NULL
) RETURNS TABLE (
    kind text, source text, target text, event text, count bigint, median double precision, p95 double precision,
    waiting bigint, longest double precision, ended bigint
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    RETURN QUERY
    WITH taken AS MATERIALIZED (
        SELECT * FROM @extschema@.harel__sample(p_definition_id, p_limit)
    ), executions AS (
        SELECT * FROM taken t WHERE t.is_beyond IS NOT TRUE
    ), entries AS MATERIALIZED (
        SELECT * FROM @extschema@.harel__entries(ARRAY(SELECT e.id FROM executions e))
    ), steps AS MATERIALIZED (
        SELECT
            s.execution_id, s.source, coalesce(s.target, s.source) AS target, s.event, s.at,
            extract(epoch FROM s.at - s.before)::double precision AS dwell
        FROM (
            SELECT
                n.execution_id, n.event, n.target, n.at,
                coalesce(n.source, lag(n.target) OVER earlier) AS source,
                lag(n.at) OVER earlier AS before
            FROM entries n
            WINDOW earlier AS (PARTITION BY n.execution_id ORDER BY n.idx)
        ) s
    ), here AS MATERIALIZED (
        -- Where they are now the executions know themselves; since when, their last entry.
        SELECT
            e.active_path AS state, e.has_ended,
            greatest(0, v_now - extract(epoch FROM coalesce(l.at, e.updated_at))::double precision) AS age
        FROM executions e
        LEFT JOIN (SELECT s.execution_id, max(s.at) AS at FROM steps s GROUP BY s.execution_id) l
            ON l.execution_id = e.id
    ), states AS (
        SELECT
            u.state,
            sum(u.entered) AS entered,
            percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY u.dwell) AS dwell,
            sum(u.waiting) AS waiting,
            max(u.age) AS longest,
            sum(u.ended) AS ended
        FROM (
            SELECT
                s.target AS state, 1 AS entered, NULL::double precision AS dwell,
                0 AS waiting, NULL::double precision AS age, 0 AS ended
            FROM steps s
            UNION ALL
            SELECT s.source, 0, s.dwell, 0, NULL, 0 FROM steps s
            UNION ALL
            SELECT h.state, 0, NULL, 1, h.age, 0 FROM here h WHERE NOT h.has_ended
            UNION ALL
            SELECT h.state, 0, NULL, 0, NULL, 1 FROM here h WHERE h.has_ended
        ) u
        WHERE u.state IS NOT NULL
        GROUP BY u.state
    ), transitions AS (
        SELECT
            s.source, s.target, s.event, count(*) AS taken,
            percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY s.dwell) AS dwell
        FROM steps s
        WHERE s.target IS NOT NULL
        GROUP BY s.source, s.target, s.event
    ), summary AS (
        SELECT
            CASE WHEN bool_or(t.is_beyond) THEN 'sample' ELSE 'definition' END AS kind,
            count(*) FILTER (WHERE t.is_beyond IS NOT TRUE) AS executions,
            count(*) FILTER (WHERE t.is_beyond IS NOT TRUE AND NOT t.has_ended) AS waiting,
            count(*) FILTER (WHERE t.is_beyond IS NOT TRUE AND t.has_ended) AS ended
        FROM taken t
        HAVING count(*) > 0
    )
    SELECT f.kind, f.source, f.target, f.event, f.count, f.dwell[1], f.dwell[2], f.waiting, f.longest, f.ended
    FROM (
        SELECT
            1 AS place, s.kind, NULL AS source, NULL AS target, NULL AS event, s.executions AS count,
            NULL::double precision[] AS dwell, s.waiting, NULL::double precision AS longest, s.ended
        FROM summary s
        UNION ALL
        SELECT 2, 'state', s.state, NULL, NULL, s.entered, s.dwell, s.waiting, s.longest, s.ended
        FROM states s
        UNION ALL
        SELECT 3, 'transition', t.source, t.target, t.event, t.taken, t.dwell, NULL, NULL, NULL
        FROM transitions t
    ) f
    ORDER BY f.place, f.count DESC, f.source COLLATE "C", f.target COLLATE "C", f.event COLLATE "C";
END
$$;
COMMENT ON FUNCTION @extschema@.harel_flow(text, integer, double precision)
IS
'A definition as it really runs, found in the traces of its executions. A row of kind definition: how many were read '
'(count), have not ended (waiting) and have (ended); its kind is sample where, of a status, only the p_limit with the '
'greatest ids were read, roots and children each (NULL: all). For each state (source): how often it was entered '
'(count), the median and the 95th percentile of the seconds spent in it, the executions that are in it now and have '
'not ended (waiting), the seconds for which the first of them has been (longest), and those that have ended in it. For '
'each transition, from source (NULL: the beginning) to target by event: how often it was taken, and the seconds spent '
'in source before it. An entry that leads to the state that it comes from leaves and enters it anew. Read from the '
'members event, from, to and at of the entries: see harel_timeline(). Raises ST006 or ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_flow(text, integer, double precision) FROM PUBLIC;
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
-- Dead index entries at the head of an index are what kills queues in PostgreSQL: while any snapshot is held, nobody
-- may remove them, and each claim would step over all that was ever claimed. So claims begin at a floor, which follows
-- the least live value. It stays half a second behind the clock, because a message becomes visible only when its
-- transaction commits. One that took longer lands below the floor, as does what another clock or a restore put there:
-- those groups are looked for once a second, or less often where that takes long, and lifted above it.
--
-- The registers are ahead of a clock that was set back, or of another host's since a standby was promoted there. Nobody
-- would find anything until it has caught up, so they begin anew.
CREATE FUNCTION @extschema@.harel__tend(p_now double precision, p_floor double precision) RETURNS double precision
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    v_now_us bigint := p_now * 1000000;
    v_late tid[];
    v_floor double precision;
BEGIN
    IF p_floor > p_now OR v_now_us < (SELECT r.last_value FROM @extschema@.transport_tend_at r) - 5000000 THEN
        PERFORM setval('@extschema@.transport_floor', -9223372036854775807),
            setval('@extschema@.transport_lift_at', 0),
            setval('@extschema@.transport_tend_at', 0);
        p_floor := '-Infinity';
    END IF;
    -- An older snapshot does not show what has come since.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RETURN p_floor;
    END IF;
    PERFORM setval('@extschema@.transport_tend_at', v_now_us + 500000);
    IF v_now_us >= (SELECT r.last_value FROM @extschema@.transport_lift_at r) THEN
        v_late := ARRAY(
            SELECT g.ctid
            FROM @extschema@.transport_groups g
            WHERE g.available_at < p_floor
            ORDER BY g.available_at
            LIMIT 1000
            FOR UPDATE SKIP LOCKED
        );
        UPDATE @extschema@.transport_groups g SET available_at = p_now WHERE g.ctid = ANY (v_late);
        -- At most a twentieth of the time is spent on it.
        PERFORM setval(
            '@extschema@.transport_lift_at',
            v_now_us + greatest(1000000, 20 * (extract(epoch FROM clock_timestamp()) * 1000000 - v_now_us)::bigint)
        );
    END IF;
    v_floor := least(
        (
            SELECT g.available_at FROM @extschema@.transport_groups g
            WHERE g.available_at >= p_floor
            ORDER BY g.available_at
            LIMIT 1
        ),
        p_now - 0.5
    );
    IF v_floor > p_floor THEN
        PERFORM setval('@extschema@.transport_floor', floor(v_floor * 1000000)::bigint);
        RETURN v_floor;
    END IF;
    RETURN p_floor;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__tend(double precision, double precision)
IS
'Internal. Advances the floor below which claims do not look, and lifts above it what came late; returns the floor. '
'Where the clock was set back the floor begins anew.';
REVOKE ALL ON FUNCTION @extschema@.harel__tend(double precision, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__refuse_attempts(p_max_attempts integer) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = 'ST008',
        MESSAGE = 'the greatest number of attempts must be 1 or more',
        DETAIL = format('It is %s: every message would become a dead letter.', p_max_attempts),
        HINT = 'Pass NULL for no limit.';
END
$$;
COMMENT ON FUNCTION @extschema@.harel__refuse_attempts(integer)
IS 'Internal. Raises ST008 for a number of attempts that leaves none.';
REVOKE ALL ON FUNCTION @extschema@.harel__refuse_attempts(integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__lock_available(
    p_limit integer,
    p_min_priority integer,
    p_urgent integer,
    p_max_attempts integer,
    p_now double precision,
    OUT now double precision,
    OUT tids tid[],
    OUT group_ids text[]
) RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    v_floor double precision := '-Infinity';
    v_tend_at bigint;
    v_urgent boolean := p_min_priority > 0;
    v_exhausted text[];
    v_more record;
BEGIN
    now := @extschema@.harel__clock(p_now);
    IF p_max_attempts < 1 THEN
        PERFORM @extschema@.harel__refuse_attempts(p_max_attempts);
    END IF;
    IF p_now IS NULL THEN
        SELECT
            f.last_value / 1000000.0,
            t.last_value,
            v_urgent OR p_urgent > 0 AND EXISTS (
                SELECT FROM @extschema@.transport_groups g
                WHERE g.priority > 0
                    AND g.priority IN (1, 2, 3, 4)
                    AND g.available_at + 0 >= (f.last_value / 1000000.0)::double precision
                    AND g.available_at + 0 <= now
            )
        INTO v_floor, v_tend_at, v_urgent
        FROM @extschema@.transport_floor f, @extschema@.transport_tend_at t;
        IF now * 1000000 >= v_tend_at OR now * 1000000 < v_tend_at - 5000000 THEN
            v_floor := @extschema@.harel__tend(now, v_floor);
        END IF;
    ELSIF p_urgent > 0 THEN
        v_urgent := true;
    END IF;
    LOOP
        tids := '{}';
        group_ids := '{}';
        v_exhausted := '{}';
        IF v_urgent THEN
            FOR v_priority IN REVERSE 4 .. greatest(p_min_priority, 1) LOOP
                SELECT
                    array_agg(c.ctid) AS tids,
                    array_agg(c.group_id) AS group_ids,
                    array_agg(c.group_id) FILTER (WHERE c.attempts >= p_max_attempts) AS exhausted
                INTO v_more
                FROM (
                    SELECT g.ctid, g.group_id, g.attempts
                    FROM @extschema@.transport_groups g
                    WHERE g.priority > 0
                        AND g.priority = v_priority
                        AND g.available_at + 0 >= v_floor
                        AND g.available_at + 0 <= now
                    ORDER BY g.available_at + 0
                    LIMIT CASE WHEN p_min_priority > 0 THEN p_limit ELSE p_urgent END - cardinality(tids)
                    FOR UPDATE SKIP LOCKED
                ) c;
                tids := tids || v_more.tids;
                group_ids := group_ids || v_more.group_ids;
                v_exhausted := v_exhausted || v_more.exhausted;
            END LOOP;
        END IF;
        IF p_min_priority = 0 THEN
            SELECT
                tids || array_agg(c.ctid),
                group_ids || array_agg(c.group_id),
                v_exhausted || array_agg(c.group_id) FILTER (WHERE c.attempts >= p_max_attempts)
            INTO tids, group_ids, v_exhausted
            FROM (
                SELECT g.ctid, g.group_id, g.attempts
                FROM @extschema@.transport_groups g
                WHERE g.available_at >= v_floor
                    AND g.available_at <= now
                    AND g.ctid <> ALL (tids)
                ORDER BY g.available_at
                LIMIT p_limit - cardinality(tids)
                FOR UPDATE SKIP LOCKED
            ) c;
        END IF;
        EXIT WHEN v_exhausted = '{}';
        PERFORM @extschema@.harel__bury(v_exhausted, NULL, false, now);
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__lock_available(
    integer, integer, integer, integer, double precision
) IS
'Internal. Locks up to p_limit groups whose first message can be claimed, longest available first, up to p_urgent of '
'them by priority, without waiting; messages delivered too often become dead letters on the way.';
REVOKE ALL ON FUNCTION @extschema@.harel__lock_available(
    integer, integer, integer, integer, double precision
) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__check_claim(
    p_worker text, p_visibility double precision, p_limit integer, p_min_priority integer
) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF (octet_length(p_worker) BETWEEN 1 AND 1000) IS NOT TRUE THEN
        PERFORM @extschema@.harel__refuse_key(NULL, 'worker', p_worker);
    END IF;
    PERFORM @extschema@.harel__check_duration('visibility', p_visibility);
    PERFORM @extschema@.harel__check_priority(NULL, p_min_priority);
    IF p_limit IS NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST008',
            MESSAGE = 'a claim must have a limit',
            DETAIL = 'The limit is NULL.',
            HINT = 'Pass the number of messages that the worker can handle now.';
    END IF;
    PERFORM @extschema@.harel__check_limit(p_limit);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__check_claim(text, double precision, integer, integer)
IS 'Internal. Raises ST001, ST008, ST010 or ST011 for a claim that cannot be made.';
REVOKE ALL ON FUNCTION @extschema@.harel__check_claim(text, double precision, integer, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_claim(
    p_worker text,
    p_visibility double precision,
    p_limit integer DEFAULT 1,
    p_min_priority integer DEFAULT 0,
    p_max_attempts integer DEFAULT 20,
    p_now double precision DEFAULT NULL
) RETURNS TABLE (
    group_id text, seq bigint, event text, token uuid, deadline double precision, attempts integer
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    v_locked record;
    v_token uuid := gen_random_uuid();
BEGIN
    IF (octet_length(p_worker) BETWEEN 1 AND 1000
        AND p_visibility BETWEEN 0 AND 1e300
        AND p_limit >= 0
        AND p_min_priority BETWEEN 0 AND 4) IS NOT TRUE
    THEN
        PERFORM @extschema@.harel__check_claim(p_worker, p_visibility, p_limit, p_min_priority);
    END IF;
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY
        SELECT n.group_id, n.seq, n.event, n.token, n.deadline, n.attempts
        FROM @extschema@.harel__everywhere_next(
            p_worker, p_visibility, p_limit, p_min_priority, CASE WHEN p_min_priority > 0 THEN p_limit ELSE 0 END,
            p_max_attempts, false, p_now
        ) n;
        RETURN;
    END IF;
    v_locked := @extschema@.harel__lock_available(p_limit, p_min_priority, 0, p_max_attempts, p_now);
    IF v_locked.tids = '{}' THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH leased AS (
        UPDATE @extschema@.transport_groups g
        SET available_at = v_locked.now + p_visibility,
            token = v_token,
            worker = p_worker,
            attempts = g.attempts + 1,
            claimed_at = clock_timestamp()
        WHERE g.ctid = ANY (v_locked.tids)
        RETURNING g.group_id, g.head, g.attempts
    )
    SELECT l.group_id, l.head, m.event, v_token, v_locked.now + p_visibility, l.attempts
    FROM leased l
    CROSS JOIN LATERAL (
        SELECT m.event FROM @extschema@.transport_messages m
        WHERE m.group_id = l.group_id AND m.seq = l.head
        OFFSET 0
    ) m
    ORDER BY array_position(v_locked.group_ids, l.group_id);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_claim(text, double precision, integer, integer, integer, double precision)
IS
'Leases the first message of up to p_limit groups for p_visibility seconds, longest available first, and of those '
'with p_min_priority or more the most urgent first. A group has at most one message leased. The token names the '
'lease, which is over at the deadline (seconds since the epoch): then the message can be claimed by another. A '
'message already delivered p_max_attempts times (NULL: no limit) becomes a dead letter instead. Raises ST001, ST006, '
'ST008, ST010 or ST011.';
REVOKE ALL ON FUNCTION @extschema@.harel_claim(text, double precision, integer, integer, integer, double precision)
FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__settle(p_group_ids text[], p_now double precision) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    v_drained integer;
BEGIN
    DELETE FROM @extschema@.transport_messages m
    USING @extschema@.transport_groups g
    WHERE g.group_id = ANY (p_group_ids) AND m.group_id = g.group_id AND m.seq = g.head;
    DELETE FROM @extschema@.transport_groups g WHERE g.group_id = ANY (p_group_ids) AND g.head = g.tail;
    GET DIAGNOSTICS v_drained = ROW_COUNT;
    IF v_drained = cardinality(p_group_ids) THEN
        RETURN false;
    END IF;
    -- Just served, so behind those that wait.
    UPDATE @extschema@.transport_groups g
    SET head = g.head + 1, available_at = p_now, attempts = 0, token = NULL, worker = NULL
    WHERE g.group_id = ANY (p_group_ids);
    RETURN true;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__settle(text[], double precision)
IS
'Internal. Removes the first message of each of these groups, which the caller has locked; returns whether one of '
'them has another.';
REVOKE ALL ON FUNCTION @extschema@.harel__settle(text[], double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__settle_group(p_group_id text, p_head bigint, p_tail bigint, p_now double precision)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
BEGIN
    DELETE FROM @extschema@.transport_messages m WHERE m.group_id = p_group_id AND m.seq = p_head;
    IF p_head = p_tail THEN
        DELETE FROM @extschema@.transport_groups g WHERE g.group_id = p_group_id;
        RETURN false;
    END IF;
    UPDATE @extschema@.transport_groups g
    SET head = g.head + 1, available_at = p_now, attempts = 0, token = NULL, worker = NULL
    WHERE g.group_id = p_group_id;
    RETURN true;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__settle_group(text, bigint, bigint, double precision)
IS 'Internal. harel__settle() of one group, with the numbers of its first and last message.';
REVOKE ALL ON FUNCTION @extschema@.harel__settle_group(text, bigint, bigint, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_ack(
    p_group_id text, p_token uuid, p_now double precision DEFAULT NULL
) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_head bigint;
    v_tail bigint;
BEGIN
    IF p_group_id IS NULL OR p_token IS NULL THEN
        PERFORM @extschema@.harel__refuse_lease(p_group_id);
    END IF;
    -- The sum, here and below, keeps this from the index by time, on which every lease would be looked at.
    SELECT g.head, g.tail INTO v_head, v_tail
    FROM @extschema@.transport_groups g
    WHERE g.group_id = p_group_id AND g.token = p_token AND g.available_at + 0 > v_now
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF @extschema@.harel__settle_group(p_group_id, v_head, v_tail, v_now) THEN
        PERFORM @extschema@.harel__wake();
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_ack(text, uuid, double precision)
IS
'Removes a message that has been handled, and frees its group; returns whether it did. false: the lease is over, and '
'nothing was done. Raises ST001 or ST006.';
REVOKE ALL ON FUNCTION @extschema@.harel_ack(text, uuid, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__refuse_lease(p_group_id text) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = 'ST001',
        MESSAGE = 'a lease is named by its group and its token',
        DETAIL = format('Group %s: one of the two is NULL.', coalesce(quote_literal(left(p_group_id, 40)), 'NULL')),
        HINT = 'Pass the group_id and the token that harel_claim() or harel_next() gave.';
END
$$;
COMMENT ON FUNCTION @extschema@.harel__refuse_lease(text)
IS 'Internal. Raises ST001 for a lease without a group or a token.';
REVOKE ALL ON FUNCTION @extschema@.harel__refuse_lease(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_nack(
    p_group_id text,
    p_token uuid,
    p_delay double precision DEFAULT 0,
    p_reason text DEFAULT NULL,
    p_max_attempts integer DEFAULT 20,
    p_now double precision DEFAULT NULL
) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_attempts integer;
BEGIN
    IF p_group_id IS NULL OR p_token IS NULL THEN
        PERFORM @extschema@.harel__refuse_lease(p_group_id);
    END IF;
    PERFORM @extschema@.harel__check_duration('delay', p_delay);
    UPDATE @extschema@.transport_groups g
    SET available_at = v_now + p_delay, token = NULL, worker = NULL
    WHERE g.group_id = p_group_id AND g.token = p_token AND g.available_at + 0 > v_now
    RETURNING g.attempts INTO v_attempts;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF v_attempts >= p_max_attempts THEN
        PERFORM @extschema@.harel__bury_group(p_group_id, p_reason, false, v_now);
    ELSIF p_delay > 0 THEN
        RETURN true;
    END IF;
    PERFORM @extschema@.harel__wake();
    RETURN true;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_nack(text, uuid, double precision, text, integer, double precision)
IS
'Gives back a message that was not handled: it stays the first of its group, which can be claimed again after p_delay '
'seconds. After p_max_attempts deliveries (NULL: no limit) it becomes a dead letter, for p_reason. Returns whether it '
'did; false: the lease is over, and nothing was done. Raises ST001, ST006 or ST011.';
REVOKE ALL ON FUNCTION @extschema@.harel_nack(text, uuid, double precision, text, integer, double precision)
FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_extend(
    p_group_ids text[],
    p_tokens uuid[],
    p_visibility double precision,
    p_now double precision DEFAULT NULL
) RETURNS TABLE (group_id text, deadline double precision)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
BEGIN
    PERFORM @extschema@.harel__check_list(NULL, 'leases', array_dims(p_group_ids), array_dims(p_tokens));
    PERFORM @extschema@.harel__check_duration('visibility', p_visibility);
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY
        SELECT * FROM @extschema@.harel__everywhere_extend(p_group_ids, p_tokens, p_visibility, v_now);
        RETURN;
    END IF;
    -- This waits for nobody: where another has locked the group, to publish or to settle, the deadline stays for now.
    RETURN QUERY
    WITH leases AS MATERIALIZED (
        SELECT g.group_id, g.token, g.available_at
        FROM unnest(p_group_ids, p_tokens) AS l (group_id, token)
        JOIN @extschema@.transport_groups g ON g.group_id = l.group_id COLLATE "C" AND g.token = l.token
        WHERE g.available_at + 0 > v_now
    ), held AS (
        SELECT g.group_id
        FROM leases l
        JOIN @extschema@.transport_groups g ON g.group_id = l.group_id AND g.token = l.token
        WHERE g.available_at + 0 > v_now
        FOR UPDATE OF g SKIP LOCKED
    ), moved AS (
        UPDATE @extschema@.transport_groups g
        SET available_at = greatest(g.available_at, v_now + p_visibility)
        FROM held h
        WHERE g.group_id = h.group_id
        RETURNING g.group_id, g.available_at
    )
    SELECT m.group_id, m.available_at FROM moved m
    UNION ALL
    SELECT DISTINCT l.group_id, l.available_at FROM leases l
    WHERE l.group_id NOT IN (SELECT m.group_id FROM moved m);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_extend(text[], uuid[], double precision, double precision)
IS
'Moves the deadlines of leases to p_visibility seconds from now, if that is later; returns those that still hold, '
'with their deadlines. Raises ST004, ST006 or ST011.';
REVOKE ALL ON FUNCTION @extschema@.harel_extend(text[], uuid[], double precision, double precision) FROM PUBLIC;
CREATE FUNCTION @extschema@.harel__bury(
    p_group_ids text[], p_reason text, p_all boolean, p_now double precision
) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
BEGIN
    WITH dead AS (
        DELETE FROM @extschema@.transport_messages m
        USING @extschema@.transport_groups g
        WHERE g.group_id = ANY (p_group_ids)
            AND m.group_id = g.group_id
            AND m.seq >= g.head
            AND m.seq <= CASE WHEN p_all THEN g.tail ELSE g.head END
        RETURNING m.*, m.seq = g.head AS is_first, g.attempts, g.claimed_at
    )
    INSERT INTO @extschema@.dead_letters (group_id, seq, event, reason, attempts, published_at, delivered_at)
    SELECT
        d.group_id, d.seq, d.event,
        coalesce(p_reason, format('delivered %s times without having been handled', d.attempts)),
        CASE WHEN d.is_first THEN d.attempts ELSE 0 END,
        d.published_at,
        CASE WHEN d.is_first AND d.attempts > 0 THEN d.claimed_at END
    FROM dead d;
    DELETE FROM @extschema@.transport_groups g
    WHERE g.group_id = ANY (p_group_ids) AND (p_all OR g.head = g.tail);
    UPDATE @extschema@.transport_groups g
    SET head = g.head + 1, available_at = p_now, attempts = 0, token = NULL, worker = NULL
    WHERE g.group_id = ANY (p_group_ids);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__bury(text[], text, boolean, double precision)
IS
'Internal. Makes the first message (p_all: every message) of each of these groups, which the caller has locked, a '
'dead letter, for p_reason (NULL: it was delivered too often); the groups move on.';
REVOKE ALL ON FUNCTION @extschema@.harel__bury(text[], text, boolean, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_dead_letters(p_group_id text DEFAULT NULL, p_limit integer DEFAULT NULL)
RETURNS TABLE (
    id uuid, group_id text, seq bigint, event text, reason text, attempts integer,
    published_at timestamptz, delivered_at timestamptz, dead_at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF p_group_id IS NULL THEN
        RETURN QUERY
        SELECT
            d.id, d.group_id, d.seq, d.event, d.reason, d.attempts, d.published_at, d.delivered_at, d.dead_at
        FROM @extschema@.dead_letters d
        ORDER BY d.dead_at, d.seq
        LIMIT p_limit;
    ELSE
        RETURN QUERY
        SELECT
            d.id, d.group_id, d.seq, d.event, d.reason, d.attempts, d.published_at, d.delivered_at, d.dead_at
        FROM @extschema@.dead_letters d
        WHERE d.group_id = p_group_id
        ORDER BY d.dead_at, d.seq
        LIMIT p_limit;
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_dead_letters(text, integer)
IS
'The messages taken out of the queue without having been handled, oldest first, at most p_limit (NULL: all), of one '
'group (NULL: of all). Raises ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_dead_letters(text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_redrive(
    p_group_id text DEFAULT NULL,
    p_id uuid DEFAULT NULL,
    p_limit integer DEFAULT NULL,
    p_now double precision DEFAULT NULL
) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_base bigint := extract(epoch FROM clock_timestamp()) * 1000000;
    v_letter record;
    v_head bigint;
    v_count integer := 0;
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_redrive(p_group_id, p_id, p_limit, v_now);
    END IF;
    IF p_group_id IS NULL AND p_id IS NULL THEN
        -- The groups that exist before those that are made here, as in harel_finish().
        PERFORM @extschema@.harel__lock_groups(ARRAY(
            SELECT l.group_id FROM @extschema@.dead_letters l ORDER BY l.dead_at, l.seq LIMIT p_limit
        ));
    END IF;
    -- Latest first, as each goes before the ones put back before it. By time, as this gives them new numbers.
    FOR v_letter IN
        SELECT d.group_id, d.id, d.event, d.published_at
        FROM (
            SELECT l.group_id, l.id, l.seq, l.event, l.published_at
            FROM @extschema@.dead_letters l
            WHERE (p_group_id IS NULL OR l.group_id = p_group_id) AND (p_id IS NULL OR l.id = p_id)
            ORDER BY l.dead_at, l.seq
            LIMIT p_limit
            FOR UPDATE SKIP LOCKED
        ) d
        ORDER BY d.group_id, d.published_at DESC, d.seq DESC
    LOOP
        -- Whoever holds a lease on the group loses it: the message that it is for is no longer the first.
        INSERT INTO @extschema@.transport_groups AS g (group_id, available_at, head, tail, priority)
        VALUES (
            v_letter.group_id, v_now, v_base, v_base,
            coalesce((SELECT e.priority FROM @extschema@.executions e WHERE e.id = v_letter.group_id), 0)
        )
        ON CONFLICT (group_id) DO UPDATE
        SET head = g.head - 1,
            available_at = CASE WHEN g.available_at = 'Infinity' THEN 'Infinity' ELSE v_now END,
            attempts = 0,
            token = NULL,
            worker = NULL
        RETURNING g.head INTO v_head;
        INSERT INTO @extschema@.transport_messages (group_id, seq, event, published_at)
        VALUES (v_letter.group_id, v_head, v_letter.event, v_letter.published_at);
        DELETE FROM @extschema@.dead_letters d WHERE d.id = v_letter.id;
        v_count := v_count + 1;
    END LOOP;
    IF v_count > 0 THEN
        PERFORM @extschema@.harel__wake();
    END IF;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_redrive(text, uuid, integer, double precision)
IS
'Puts dead letters back at the head of their groups, in the order that they once had, and counts their deliveries '
'anew: that of one id, those of one group, or all (the oldest p_limit). Returns how many. Raises ST006 or ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_redrive(text, uuid, integer, double precision) FROM PUBLIC;
CREATE FUNCTION @extschema@.harel__member(p_data text, p_key text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN p_data::jsonb ->> p_key;
EXCEPTION WHEN data_exception OR program_limit_exceeded OR feature_not_supported OR internal_error THEN
    BEGIN
        -- jsonb holds less than JSON allows.
        RETURN @extschema@.harel__decodable(p_data) ->> p_key;
    EXCEPTION WHEN data_exception OR program_limit_exceeded OR feature_not_supported THEN
        RETURN NULL;
    END;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__member(text, text)
IS 'Internal. A member at the top level of a JSON text; NULL where there is none or the text is not JSON.';
REVOKE ALL ON FUNCTION @extschema@.harel__member(text, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__announce_sleep(p_sleep double precision) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM setval(
        '@extschema@.transport_asleep_until',
        greatest(
            pg_sequence_last_value('@extschema@.transport_asleep_until'),
            least((extract(epoch FROM clock_timestamp()) + p_sleep) * 1000000, 9e18)::bigint
        )
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel__announce_sleep(double precision)
IS 'Internal. Says that a worker is going to sleep for so many seconds: see harel__wake().';
REVOKE ALL ON FUNCTION @extschema@.harel__announce_sleep(double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_next(
    p_worker text,
    p_visibility double precision,
    p_limit integer DEFAULT 1,
    p_min_priority integer DEFAULT 0,
    p_max_attempts integer DEFAULT 20,
    p_sleep double precision DEFAULT NULL,
    p_now double precision DEFAULT NULL
) RETURNS TABLE (
    group_id text, seq bigint, event text, token uuid, deadline double precision, attempts integer,
    definition_id text, data text, version integer, status text, already_processed boolean
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    v_locked record;
    v_row record;
    v_announced boolean := p_sleep IS NULL;
    v_given boolean := false;
    v_unknown text[];
    v_suspended text[];
BEGIN
    IF (octet_length(p_worker) BETWEEN 1 AND 1000
        AND p_visibility BETWEEN 0 AND 1e300
        AND p_limit >= 0
        AND p_min_priority BETWEEN 0 AND 4) IS NOT TRUE
    THEN
        PERFORM @extschema@.harel__check_claim(p_worker, p_visibility, p_limit, p_min_priority);
    END IF;
    IF p_sleep IS NOT NULL THEN
        PERFORM @extschema@.harel__check_duration('sleep', p_sleep);
    END IF;
    token := gen_random_uuid();
    IF @extschema@.harel__is_distributed() THEN
        LOOP
            RETURN QUERY
            SELECT * FROM @extschema@.harel__everywhere_next(
                p_worker, p_visibility, p_limit, p_min_priority,
                CASE WHEN p_min_priority > 0 THEN p_limit ELSE floor(p_limit / 2.0 + random())::integer END,
                p_max_attempts, true, p_now
            );
            IF FOUND OR v_announced OR p_limit = 0 THEN
                RETURN;
            END IF;
            v_announced := true;
            PERFORM @extschema@.harel__announce_sleep(p_sleep);
        END LOOP;
    END IF;
    LOOP
        -- Of two messages, one goes by priority and one by age, so that neither can keep the other waiting for ever.
        v_locked := @extschema@.harel__lock_available(
            p_limit, p_min_priority, floor(p_limit / 2.0 + random())::integer, p_max_attempts, p_now
        );
        IF v_locked.tids = '{}' THEN
            IF v_announced OR p_limit = 0 THEN
                RETURN;
            END IF;
            -- Said first and then looked once more, or what comes in between would wake nobody.
            v_announced := true;
            PERFORM @extschema@.harel__announce_sleep(p_sleep);
            CONTINUE;
        END IF;
        deadline := v_locked.now + p_visibility;
        v_unknown := '{}';
        v_suspended := '{}';
        FOR v_row IN
            WITH leased AS (
                UPDATE @extschema@.transport_groups g
                SET available_at = deadline,
                    token = harel_next.token,
                    worker = p_worker,
                    attempts = g.attempts + 1,
                    claimed_at = clock_timestamp()
                WHERE g.ctid = ANY (v_locked.tids)
                RETURNING g.group_id, g.head, g.attempts
            )
            SELECT
                l.group_id, l.head, m.event, l.attempts, e.definition_id, e.data, e.version, e.status,
                (
                    SELECT true FROM @extschema@.processed_events p
                    WHERE p.execution_id = l.group_id AND p.event_id = @extschema@.harel__member(m.event, 'id')
                ) IS NOT NULL AS already_processed
            FROM leased l
            CROSS JOIN LATERAL (
                SELECT m.event FROM @extschema@.transport_messages m
                WHERE m.group_id = l.group_id AND m.seq = l.head
                OFFSET 0
            ) m
            LEFT JOIN LATERAL (
                SELECT e.definition_id, e.data, e.version, e.status FROM @extschema@.executions e
                WHERE e.id = l.group_id
                OFFSET 0
            ) e ON true
        LOOP
            IF v_row.version IS NULL THEN
                v_unknown := v_unknown || v_row.group_id;
            ELSIF v_row.status = 'SUSPENDED' THEN
                v_suspended := v_suspended || v_row.group_id;
            ELSIF v_row.status IN ('CANCELLED', 'FAILED') AND NOT v_row.already_processed THEN
                PERFORM @extschema@.harel__bury(
                    ARRAY[v_row.group_id], format('the execution is %s', v_row.status), true, v_locked.now
                );
            ELSE
                group_id := v_row.group_id;
                seq := v_row.head;
                event := v_row.event;
                attempts := v_row.attempts;
                definition_id := v_row.definition_id;
                data := v_row.data;
                version := v_row.version;
                status := v_row.status;
                already_processed := v_row.already_processed;
                v_given := true;
                RETURN NEXT;
            END IF;
        END LOOP;
        IF v_suspended <> '{}' THEN
            UPDATE @extschema@.transport_groups g
            SET available_at = 'Infinity', token = NULL, worker = NULL, attempts = g.attempts - 1
            WHERE g.group_id = ANY (v_suspended);
        END IF;
        IF v_unknown <> '{}' THEN
            PERFORM @extschema@.harel__drop_unknown(v_unknown, v_locked.now);
        END IF;
        EXIT WHEN v_given;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_next(
    text, double precision, integer, integer, integer, double precision, double precision
) IS
'harel_claim() and harel_load_for_event() in one: leases up to p_limit messages, up to half of them by priority and '
'the others by age, and returns each with its execution and whether this has handled the event already. Messages for '
'an execution that does not exist, or is CANCELLED or FAILED, become dead letters; those of one that is '
'SUSPENDED stay until harel_resume(). Where there is nothing to do, p_sleep announces that the worker is going to '
'sleep for so many seconds: a message then sends a notification on harel_channel(). Raises ST001, ST006, ST008, ST010 '
'or ST011.';
REVOKE ALL ON FUNCTION @extschema@.harel_next(
    text, double precision, integer, integer, integer, double precision, double precision
) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__drop_unknown(p_group_ids text[], p_now double precision) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
DECLARE
    -- One that is asked for, and not yet created, is waited for, and one may have been created since it was looked for.
    v_expected text[] := ARRAY(
        SELECT g.id FROM unnest(p_group_ids) AS g (id)
        WHERE (SELECT true FROM @extschema@.spawns s WHERE s.child_id = g.id LIMIT 1)
            OR (SELECT true FROM @extschema@.executions e WHERE e.id = g.id)
    );
BEGIN
    UPDATE @extschema@.transport_groups g
    SET available_at = p_now + 0.1, token = NULL, worker = NULL, attempts = g.attempts - 1
    WHERE g.group_id = ANY (v_expected);
    PERFORM @extschema@.harel__bury(
        ARRAY(SELECT g.id FROM unnest(p_group_ids) AS g (id) WHERE g.id <> ALL (v_expected)),
        'there is no such execution', true, p_now
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel__drop_unknown(text[], double precision)
IS 'Internal. Makes the messages of executions that do not exist dead letters, but parks those of pending spawns.';
REVOKE ALL ON FUNCTION @extschema@.harel__drop_unknown(text[], double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__derived_id(VARIADIC p_parts text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- The bytes as the database has them: see harel__cursor().
    RETURN left(
        encode(sha256(convert_to(array_to_string(p_parts, chr(31)), getdatabaseencoding())), 'hex'), 32
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel__derived_id(text[])
IS 'Internal. An event id of 32 hexadecimal digits, the same for the same texts.';
REVOKE ALL ON FUNCTION @extschema@.harel__derived_id(text[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__create_child(
    p_parent_id text, p_definition_id text, p_priority integer, p_child_id text, p_root_path text, p_context text
) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id text := to_json(p_child_id);
BEGIN
    IF (octet_length(p_child_id) BETWEEN 1 AND 1000) IS NOT TRUE THEN
        PERFORM @extschema@.harel__refuse_key(p_parent_id, 'child id', p_child_id);
    END IF;
    -- By itself, too: what is no value may still be a part of an object.
    PERFORM @extschema@.harel__fields(p_child_id, p_context);
    IF NOT @extschema@.harel__swap(
        p_child_id,
        p_definition_id,
        format(
            '{"id":%s,"definition_id":%s,"root_path":%s,"status":"PENDING","context":%s,"parent_id":%s,"child_id":%s,'
            '"priority":%s,"version":1}',
            v_id, to_json(p_definition_id), to_json(p_root_path), p_context, to_json(p_parent_id), v_id, p_priority
        ),
        0,
        NULL
    ) THEN
        RETURN NULL;
    END IF;
    RETURN format(
        '{"id":"%s","kind":"Start","data":{}}', @extschema@.harel__derived_id('Start', p_child_id)
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel__create_child(text, text, integer, text, text, text)
IS 'Internal. Creates a child execution and returns the event that starts it; NULL where the id is taken.';
REVOKE ALL ON FUNCTION @extschema@.harel__create_child(text, text, integer, text, text, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_finish(
    p_group_ids text[],
    p_tokens uuid[],
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
    p_trace_max integer DEFAULT NULL,
    p_now double precision DEFAULT NULL
) RETURNS TABLE (group_id text, result text, stored_version integer, outbox_seqs bigint[])
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_count integer := coalesce(cardinality(p_group_ids), 0);
    v_emit_ends integer[];
    v_spawn_ends integer[];
    v_timer_ends integer[];
    v_tokens jsonb;
    v_done text[] := '{}';
    v_results text[] := '{}';
    v_versions integer[];
    v_seqs bigint[];
    v_seq_starts integer[];
    v_seq_ends integer[];
    v_all_seqs bigint[] := '{}';
    v_priority integer;
    v_start text;
    v_foreign text[];
    v_kept_targets text[];
    v_kept_events text[];
    v_kept_children text[];
    v_kept_root_paths text[];
    v_kept_contexts text[];
    v_sent_groups text[];
    v_sent_events text[];
    v_group_ids text[] := '{}';
    v_events text[] := '{}';
    i integer;
BEGIN
    -- Events and traces may be left out as a whole.
    -- See harel__commit() for why the shape is looked at before the call that speaks of it.
    IF array_dims(p_group_ids) IS DISTINCT FROM array_dims(p_tokens)
        OR array_dims(p_group_ids) IS DISTINCT FROM array_dims(p_defns)
        OR array_dims(p_group_ids) IS DISTINCT FROM array_dims(p_datas)
        OR array_dims(p_group_ids) IS DISTINCT FROM array_dims(p_olds)
        OR array_dims(p_group_ids) IS DISTINCT FROM coalesce(array_dims(p_events), array_dims(p_group_ids))
        OR array_dims(p_group_ids) IS DISTINCT FROM coalesce(array_dims(p_traces), array_dims(p_group_ids))
        OR array_ndims(p_group_ids) <> 1
        OR array_lower(p_group_ids, 1) <> 1
    THEN
        PERFORM @extschema@.harel__check_list(
            NULL, 'the messages',
            array_dims(p_group_ids), array_dims(p_tokens), array_dims(p_defns), array_dims(p_datas), array_dims(p_olds),
            coalesce(array_dims(p_events), array_dims(p_group_ids)),
            coalesce(array_dims(p_traces), array_dims(p_group_ids))
        );
    END IF;
    IF p_emit_commits IS NOT NULL OR p_emit_targets IS NOT NULL OR p_emit_events IS NOT NULL THEN
        PERFORM @extschema@.harel__check_list(
            NULL, 'emits', array_dims(p_emit_commits), array_dims(p_emit_targets), array_dims(p_emit_events)
        );
        v_emit_ends := @extschema@.harel__ends('emits', p_emit_commits, v_count);
    END IF;
    IF p_spawn_commits IS NOT NULL OR p_spawn_children IS NOT NULL
        OR p_spawn_root_paths IS NOT NULL OR p_spawn_contexts IS NOT NULL
    THEN
        PERFORM @extschema@.harel__check_list(
            NULL, 'spawns',
            array_dims(p_spawn_commits), array_dims(p_spawn_children), array_dims(p_spawn_root_paths),
            array_dims(p_spawn_contexts)
        );
        v_spawn_ends := @extschema@.harel__ends('spawns', p_spawn_commits, v_count);
    END IF;
    IF p_timer_commits IS NOT NULL OR p_timer_actions IS NOT NULL
        OR p_timer_paths IS NOT NULL OR p_timer_fire_ats IS NOT NULL
    THEN
        PERFORM @extschema@.harel__check_list(
            NULL, 'timers',
            array_dims(p_timer_commits), array_dims(p_timer_actions), array_dims(p_timer_paths),
            array_dims(p_timer_fire_ats)
        );
        v_timer_ends := @extschema@.harel__ends('timers', p_timer_commits, v_count);
    END IF;

    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY
        SELECT * FROM @extschema@.harel__everywhere_finish(
            p_group_ids, p_tokens, p_defns, p_datas, p_olds, p_events, v_emit_ends, p_emit_targets, p_emit_events,
            v_spawn_ends, p_spawn_children, p_spawn_root_paths, p_spawn_contexts,
            v_timer_ends, p_timer_actions, p_timer_paths, p_timer_fire_ats, p_traces, p_trace_max, v_now
        );
        RETURN;
    END IF;

    -- Locks are taken in this order, by all who take several: executions, then groups, each by id, then what hangs on
    -- an execution. The groups are those settled and those published to: two executions that send to each other would
    -- otherwise wait for each other.
    PERFORM FROM @extschema@.executions e WHERE e.id = ANY (p_group_ids) ORDER BY e.id FOR NO KEY UPDATE;
    v_tokens := (
        SELECT jsonb_object_agg(l.group_id, l.token) FILTER (WHERE l.available_at > v_now)
        FROM (
            SELECT g.group_id, g.token, g.available_at
            FROM @extschema@.transport_groups g
            WHERE g.group_id = ANY (p_group_ids || p_emit_targets)
            ORDER BY g.group_id
            FOR UPDATE
        ) l
    );

    -- What is for another shard is left to whoever moves it there.
    IF (v_emit_ends IS NOT NULL OR v_spawn_ends IS NOT NULL)
        AND pg_sequence_last_value('@extschema@.shards_joined') IS NOT NULL
    THEN
        v_foreign := ARRAY(
            SELECT f.id
            FROM unnest(
                p_emit_targets || p_spawn_children,
                @extschema@.harel__elsewhere(p_emit_targets || p_spawn_children)
            ) AS f (id, shard)
            WHERE f.shard IS NOT NULL
        );
    END IF;

    FOR i IN
        SELECT b.place FROM unnest(p_group_ids) WITH ORDINALITY AS b (id, place)
        ORDER BY b.id COLLATE "C", b.place
    LOOP
        v_seq_starts[i] := cardinality(v_all_seqs) + 1;
        v_seq_ends[i] := cardinality(v_all_seqs);
        IF p_group_ids[i] IS NULL OR p_tokens[i] IS NULL THEN
            PERFORM @extschema@.harel__refuse_lease(p_group_ids[i]);
        END IF;
        IF v_tokens ->> p_group_ids[i] IS DISTINCT FROM p_tokens[i]::text OR p_group_ids[i] = ANY (v_done) THEN
            v_results[i] := 'expired';
            CONTINUE;
        END IF;
        IF p_datas[i] IS NOT NULL THEN
            v_kept_targets := NULL;
            v_kept_events := NULL;
            v_kept_children := NULL;
            v_kept_root_paths := NULL;
            v_kept_contexts := NULL;
            v_sent_groups := NULL;
            v_sent_events := NULL;
            FOR e IN coalesce(v_emit_ends[i - 1], 0) + 1 .. coalesce(v_emit_ends[i], 0) LOOP
                -- What the same source has left in the outbox for this target must not be overtaken.
                IF p_emit_targets[e] IS NULL OR p_emit_targets[e] = ANY (v_foreign) OR EXISTS (
                    SELECT FROM @extschema@.outbox o
                    WHERE o.target_id = p_emit_targets[e] AND o.source_id = p_group_ids[i]
                ) THEN
                    v_kept_targets := v_kept_targets || p_emit_targets[e];
                    v_kept_events := v_kept_events || p_emit_events[e];
                ELSE
                    IF p_emit_events[e] IS NULL THEN
                        PERFORM @extschema@.harel__refuse_item(p_group_ids[i], 'emits', e);
                    ELSIF octet_length(p_emit_targets[e]) NOT BETWEEN 1 AND 1000 THEN
                        PERFORM @extschema@.harel__refuse_key(p_group_ids[i], 'target id', p_emit_targets[e]);
                    END IF;
                    v_sent_groups := v_sent_groups || p_emit_targets[e];
                    v_sent_events := v_sent_events || p_emit_events[e];
                END IF;
            END LOOP;
            IF v_foreign <> '{}' THEN
                FOR s IN coalesce(v_spawn_ends[i - 1], 0) + 1 .. coalesce(v_spawn_ends[i], 0) LOOP
                    IF p_spawn_children[s] = ANY (v_foreign) THEN
                        v_kept_children := v_kept_children || p_spawn_children[s];
                        v_kept_root_paths := v_kept_root_paths || p_spawn_root_paths[s];
                        v_kept_contexts := v_kept_contexts || p_spawn_contexts[s];
                    END IF;
                END LOOP;
            END IF;
            v_seqs := @extschema@.harel__commit(
                p_group_ids[i], p_defns[i], p_datas[i], p_olds[i], p_events[i],
                v_kept_targets, v_kept_events, v_kept_children, v_kept_root_paths, v_kept_contexts,
                p_timer_actions[coalesce(v_timer_ends[i - 1], 0) + 1:v_timer_ends[i]],
                p_timer_paths[coalesce(v_timer_ends[i - 1], 0) + 1:v_timer_ends[i]],
                p_timer_fire_ats[coalesce(v_timer_ends[i - 1], 0) + 1:v_timer_ends[i]],
                p_traces[i], p_trace_max
            );
            IF v_seqs IS NULL THEN
                v_results[i] := 'conflict';
                v_versions[i] := (SELECT x.version FROM @extschema@.executions x WHERE x.id = p_group_ids[i]);
                CONTINUE;
            END IF;
            v_versions[i] := p_olds[i] + 1;
            v_all_seqs := v_all_seqs || v_seqs;
            v_seq_ends[i] := cardinality(v_all_seqs);
            FOR s IN coalesce(v_spawn_ends[i - 1], 0) + 1 .. coalesce(v_spawn_ends[i], 0) LOOP
                IF p_spawn_root_paths[s] IS NULL OR p_spawn_contexts[s] IS NULL THEN
                    PERFORM @extschema@.harel__refuse_item(p_group_ids[i], 'spawns', s);
                END IF;
                CONTINUE WHEN p_spawn_children[s] = ANY (v_foreign);
                v_priority := (SELECT x.priority FROM @extschema@.executions x WHERE x.id = p_group_ids[i]);
                v_start := @extschema@.harel__create_child(
                    p_group_ids[i], p_defns[i], v_priority,
                    p_spawn_children[s], p_spawn_root_paths[s], p_spawn_contexts[s]
                );
                IF v_start IS NOT NULL THEN
                    v_group_ids := v_group_ids || p_spawn_children[s];
                    v_events := v_events || v_start;
                END IF;
            END LOOP;
            v_group_ids := v_group_ids || v_sent_groups;
            v_events := v_events || v_sent_events;
        END IF;
        v_results[i] := 'finished';
        v_done := v_done || p_group_ids[i];
    END LOOP;

    IF v_group_ids <> '{}' THEN
        PERFORM @extschema@.harel__enqueue(v_group_ids, v_events, NULL, v_now);
    END IF;
    IF v_done <> '{}' AND @extschema@.harel__settle(v_done, v_now) THEN
        PERFORM @extschema@.harel__wake();
    END IF;
    RETURN QUERY
    SELECT b.id, v_results[b.place], v_versions[b.place], v_all_seqs[v_seq_starts[b.place]:v_seq_ends[b.place]]
    FROM unnest(p_group_ids) WITH ORDINALITY AS b (id, place)
    ORDER BY b.place;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_finish(
    text[], uuid[], text[], text[], bigint[], text[], integer[], text[], text[], integer[], text[], text[], text[],
    integer[], text[], text[], double precision[], text[], integer, double precision
) IS
'Settles leased messages, each with its commit, in one call and one transaction; one row for each, in the order '
'given. finished: the step was committed as by harel_commit(), its events with a target stand in the queue, its '
'children exist (PENDING, with a Start event), and the message is gone. Without data there is no step, and the '
'message only goes. conflict: another commit was first; nothing was written, and the lease still holds. expired: the '
'lease is over, and nothing was written. The items of all commits stand in flat lists, as for harel_commit_batch(). '
'Broadcasts go to the outbox, as do events to a target for which the source has others there, or that belongs to '
'another shard, as does a child, which then stays in the spawns; outbox_seqs has the seqs of what went to the outbox. '
'Raises ST001 to ST006, and then nothing is settled.';
REVOKE ALL ON FUNCTION @extschema@.harel_finish(
    text[], uuid[], text[], text[], bigint[], text[], integer[], text[], text[], integer[], text[], text[], text[],
    integer[], text[], text[], double precision[], text[], integer, double precision
) FROM PUBLIC;
-- These move what commits have left behind into the queue. They wait for no group that is being worked on: what is for
-- it stays for the next call, and so neither a long transaction nor a worker that settles can stop the others' events.

CREATE FUNCTION @extschema@.harel__busy(p_group_ids text[]) RETURNS text[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
DECLARE
    v_locked text[] := ARRAY(
        SELECT g.group_id FROM @extschema@.transport_groups g
        WHERE g.group_id = ANY (p_group_ids)
        ORDER BY g.group_id
        FOR UPDATE SKIP LOCKED
    );
BEGIN
    RETURN ARRAY(
        SELECT g.group_id FROM @extschema@.transport_groups g
        WHERE g.group_id = ANY (p_group_ids) AND g.group_id <> ALL (v_locked)
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel__busy(text[])
IS 'Internal. Locks those of the groups that nobody has locked, and returns the others.';
REVOKE ALL ON FUNCTION @extschema@.harel__busy(text[]) FROM PUBLIC;

-- A group that another transaction is making cannot be seen, and whoever publishes to it waits for that transaction.
CREATE FUNCTION @extschema@.harel__enqueue_free(
    p_group_ids text[], p_events text[], p_now double precision
) RETURNS text[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '10ms'
AS $$
DECLARE
    v_group record;
    v_busy text[] := '{}';
BEGIN
    BEGIN
        PERFORM @extschema@.harel__enqueue(p_group_ids, p_events, NULL, p_now);
        RETURN v_busy;
    EXCEPTION WHEN lock_not_available THEN
        -- It is not known which: each by itself, then.
        PERFORM set_config('lock_timeout', '1ms', true);
    END;
    FOR v_group IN
        SELECT m.group_id, array_agg(m.group_id) AS group_ids, array_agg(m.event ORDER BY m.place) AS events
        FROM unnest(p_group_ids, p_events) WITH ORDINALITY AS m (group_id, event, place)
        GROUP BY m.group_id
        ORDER BY m.group_id COLLATE "C"
    LOOP
        BEGIN
            PERFORM @extschema@.harel__enqueue(v_group.group_ids, v_group.events, NULL, p_now);
        EXCEPTION WHEN lock_not_available THEN
            v_busy := v_busy || v_group.group_id;
        END;
    END LOOP;
    RETURN v_busy;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__enqueue_free(text[], text[], double precision)
IS 'Internal. harel__enqueue(), but for the groups that another transaction is making: it returns these.';
REVOKE ALL ON FUNCTION @extschema@.harel__enqueue_free(text[], text[], double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_relay(p_limit integer DEFAULT 1000, p_now double precision DEFAULT NULL)
RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_seqs bigint[];
    v_targets text[];
    v_events text[];
    v_busy text[] := '{}';
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_relay(p_limit, v_now);
    END IF;
    -- One at a time: of two, each with some of one source's events, the later ones could arrive first.
    IF NOT pg_try_advisory_xact_lock(hashtextextended('harel.relay:@extschema@', 0)) THEN
        RETURN 0;
    END IF;
    -- As often as all that it finds is for groups that are being worked on, which must not hide what is behind it.
    LOOP
        SELECT array_agg(o.seq), array_agg(o.target_id), array_agg(o.event)
        INTO v_seqs, v_targets, v_events
        FROM (
            SELECT o.seq, o.target_id, o.event
            FROM @extschema@.outbox o
            WHERE octet_length(o.target_id) >= 0 AND o.shard IS NULL AND o.target_id <> ALL (v_busy)
            -- That of the index; all of one shard.
            ORDER BY o.shard, o.seq
            LIMIT p_limit
            FOR UPDATE SKIP LOCKED
        ) o;
        IF v_seqs IS NULL THEN
            RETURN 0;
        END IF;
        v_busy := v_busy || @extschema@.harel__busy(v_targets);
        IF v_busy <> '{}' THEN
            SELECT
                coalesce(array_agg(o.seq ORDER BY o.place), '{}'),
                coalesce(array_agg(o.target_id ORDER BY o.place), '{}'),
                coalesce(array_agg(o.event ORDER BY o.place), '{}')
            INTO v_seqs, v_targets, v_events
            FROM unnest(v_seqs, v_targets, v_events) WITH ORDINALITY AS o (seq, target_id, event, place)
            WHERE o.target_id <> ALL (v_busy);
            CONTINUE WHEN v_seqs = '{}';
        END IF;
        v_busy := v_busy || @extschema@.harel__enqueue_free(v_targets, v_events, v_now);
        v_seqs := ARRAY(
            SELECT o.seq FROM unnest(v_seqs, v_targets) AS o (seq, target_id) WHERE o.target_id <> ALL (v_busy)
        );
        EXIT WHEN v_seqs <> '{}';
    END LOOP;
    DELETE FROM @extschema@.outbox o WHERE o.seq = ANY (v_seqs);
    RETURN cardinality(v_seqs);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_relay(integer, double precision)
IS
'Moves up to p_limit events that have a target from the outbox into the queue, at the priority of the target: each '
'once, those of one source in the order in which it emitted them. Returns how many; 0 while another relay is at work. '
'Broadcasts stay for harel_pending_outbox(), and what is for another shard for harel_foreign_outbox(). Raises ST006 or '
'ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_relay(integer, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__is_json(p_text text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN p_text::json IS NOT NULL;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN false;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__is_json(text)
IS 'Internal. Whether a text is JSON.';
REVOKE ALL ON FUNCTION @extschema@.harel__is_json(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_relay_spawns(p_limit integer DEFAULT 1000, p_now double precision DEFAULT NULL)
RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_spawn record;
    v_start text;
    v_seqs bigint[] := '{}';
    v_group_ids text[] := '{}';
    v_events text[] := '{}';
    v_suspended text[] := '{}';
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_relay_spawns(p_limit, v_now);
    END IF;
    -- The parent is locked too: one that is being suspended or cancelled would miss the child.
    FOR v_spawn IN
        SELECT s.seq, s.parent_id, s.child_id, s.root_path, s.context, e.definition_id, e.priority, e.status
        FROM @extschema@.spawns s
        CROSS JOIN LATERAL (
            SELECT e.definition_id, e.priority, e.status FROM @extschema@.executions e
            WHERE e.id = s.parent_id
            FOR SHARE SKIP LOCKED
        ) e
        -- One that nothing can be made of must not stop the others.
        WHERE s.shard IS NULL AND @extschema@.harel__is_json(s.context)
        ORDER BY s.seq
        LIMIT p_limit
        FOR UPDATE OF s SKIP LOCKED
    LOOP
        v_start := @extschema@.harel__create_child(
            v_spawn.parent_id, v_spawn.definition_id, v_spawn.priority,
            v_spawn.child_id, v_spawn.root_path, v_spawn.context
        );
        IF v_start IS NOT NULL THEN
            v_group_ids := v_group_ids || v_spawn.child_id;
            v_events := v_events || v_start;
            IF v_spawn.status = 'SUSPENDED' THEN
                v_suspended := v_suspended || v_spawn.child_id;
            END IF;
        END IF;
        v_seqs := v_seqs || v_spawn.seq;
    END LOOP;
    IF v_group_ids <> '{}' THEN
        PERFORM @extschema@.harel__enqueue(v_group_ids, v_events, NULL, v_now);
    END IF;
    IF v_suspended <> '{}' THEN
        PERFORM @extschema@.harel__control(v_suspended, 'SUSPENDED', false);
    END IF;
    DELETE FROM @extschema@.spawns s WHERE s.seq = ANY (v_seqs);
    RETURN cardinality(v_seqs);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_relay_spawns(integer, double precision)
IS
'Creates up to p_limit of the children that commits have asked for, each once, with the definition and the priority '
'of its parent, PENDING (SUSPENDED with its parent) and with a Start event in the queue. Where the id is taken, the '
'child is there already. One whose context is not JSON stays for harel_pending_spawns(), and those of a parent that is '
'being worked on for the next call; those of another shard for harel_foreign_spawns(). Returns how many requests were '
'settled. Raises ST006 or ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_relay_spawns(integer, double precision) FROM PUBLIC;

-- The digits of fire_at are pinned: ids must not depend on the session.
CREATE FUNCTION @extschema@.harel__timeout(p_id text, p_path text, p_fire_at double precision) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET extra_float_digits = 1
AS $$
BEGIN
    RETURN format(
        '{"id":"%s","kind":"Timeout","data":{"path":%s,"fire_at":%s}}',
        @extschema@.harel__derived_id('Timeout', p_id, p_path, p_fire_at::text), to_json(p_path), p_fire_at
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel__timeout(text, text, double precision)
IS 'Internal. The event of a timer that is due; its id is derived from the three.';
REVOKE ALL ON FUNCTION @extschema@.harel__timeout(text, text, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_fire_timers(p_now double precision DEFAULT NULL, p_limit integer DEFAULT 1000)
RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_tids tid[];
    v_ids text[];
    v_busy text[];
    v_events text[];
    v_fired integer;
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_fire_timers(v_now, p_limit);
    END IF;
    SELECT array_agg(t.ctid), array_agg(t.execution_id)
    INTO v_tids, v_ids
    FROM (
        SELECT t.ctid, t.execution_id
        FROM @extschema@.timers t
        WHERE t.fire_at <= v_now
        ORDER BY t.fire_at, t.execution_id, t.path
        LIMIT p_limit
        FOR UPDATE SKIP LOCKED
    ) t;
    IF v_tids IS NULL THEN
        RETURN 0;
    END IF;
    v_busy := @extschema@.harel__busy(v_ids);
    -- Looked up apart from their order, for which an index of all timers would be walked.
    WITH due AS MATERIALIZED (
        SELECT t.execution_id, t.path, t.fire_at
        FROM @extschema@.timers t
        WHERE t.ctid = ANY (v_tids) AND t.execution_id <> ALL (v_busy)
    )
    SELECT
        array_agg(t.execution_id ORDER BY t.fire_at, t.path),
        array_agg(
            @extschema@.harel__timeout(t.execution_id, t.path, t.fire_at)
            ORDER BY t.fire_at, t.path
        )
    INTO v_ids, v_events
    FROM due t;
    IF v_ids IS NULL THEN
        RETURN 0;
    END IF;
    v_busy := v_busy || @extschema@.harel__enqueue_free(v_ids, v_events, v_now);
    DELETE FROM @extschema@.timers t WHERE t.ctid = ANY (v_tids) AND t.execution_id <> ALL (v_busy);
    GET DIAGNOSTICS v_fired = ROW_COUNT;
    RETURN v_fired;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_fire_timers(double precision, integer)
IS
'Turns up to p_limit of the timers due at p_now (seconds since the epoch; NULL: now) into Timeout events in the '
'queue, whose data has the path and fire_at, and removes them: each fires once. The id of an event is derived from '
'execution, path and fire_at. Returns how many fired. Raises ST006 or ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_fire_timers(double precision, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_tick(
    p_limit integer DEFAULT 1000,
    p_now double precision DEFAULT NULL,
    OUT spawned integer,
    OUT relayed integer,
    OUT fired integer,
    OUT next_at double precision
) RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_available_at double precision;
BEGIN
    -- Children first, so that an event for one finds it.
    spawned := @extschema@.harel_relay_spawns(p_limit, v_now);
    relayed := @extschema@.harel_relay(p_limit, v_now);
    fired := @extschema@.harel_fire_timers(v_now, p_limit);
    IF @extschema@.harel__is_distributed() THEN
        next_at := @extschema@.harel__everywhere_next_at(v_now);
        RETURN;
    END IF;
    SELECT t.fire_at INTO next_at FROM @extschema@.timers t ORDER BY t.fire_at, t.execution_id, t.path LIMIT 1;
    SELECT g.available_at INTO v_available_at
    FROM @extschema@.transport_groups g
    WHERE g.available_at > v_now AND g.available_at < 'Infinity'
    ORDER BY g.available_at
    LIMIT 1;
    next_at := least(next_at, v_available_at);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_tick(integer, double precision)
IS
'What a store needs done from time to time: harel_relay_spawns(), harel_relay() and harel_fire_timers(), up to '
'p_limit of each, and when the next timer, parked message or lease is due (seconds since the epoch; NULL: none). '
'Raises ST006 or ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_tick(integer, double precision) FROM PUBLIC;
-- Data is text of the worker's making and stays so, but for the members that the store itself must change: they are
-- replaced in the text as it stands, which keeps every other byte of every value.
CREATE FUNCTION @extschema@.harel__set_member(p_data text, p_key text, p_value text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
    v_tokens text[] := ARRAY(
        SELECT t.match[1]
        FROM regexp_matches(p_data, '("(?:[^"\\]|\\.)*"|[][{}:,]|\s+|[^][{}:,"\s]+)', 'g')
            WITH ORDINALITY AS t (match, n)
        ORDER BY t.n
    );
    v_key text := to_json(p_key);
    v_depth integer := 0;
    v_last text;
    v_first integer;
    v_is_value boolean := false;
    v_found boolean := false;
BEGIN
    FOR i IN 1 .. cardinality(v_tokens) LOOP
        CONTINUE WHEN v_tokens[i] ~ '^\s';
        IF v_is_value THEN
            IF v_tokens[i] IN ('{', '[') THEN
                EXIT;
            END IF;
            v_tokens[i] := p_value;
            v_found := true;
            v_is_value := false;
        ELSIF v_tokens[i] IN ('{', '[') THEN
            v_depth := v_depth + 1;
            v_first := coalesce(v_first, i);
        ELSIF v_tokens[i] IN ('}', ']') THEN
            IF v_depth = 1 AND NOT v_found THEN
                v_tokens[v_first] := format('{%s:%s', v_key, p_value) || CASE WHEN v_last <> '{' THEN ',' ELSE '' END;
                v_found := true;
            END IF;
            v_depth := v_depth - 1;
        ELSIF v_tokens[i] = ':' THEN
            v_is_value := v_depth = 1 AND (
                v_last = v_key
                OR strpos(v_last, '\u') > 0
                AND @extschema@.harel__member(format('{"key":%s}', v_last), 'key') = p_key
            );
        END IF;
        v_last := v_tokens[i];
        EXIT WHEN v_first IS NULL OR v_tokens[v_first] = '[';
    END LOOP;
    RETURN CASE WHEN v_found AND NOT v_is_value THEN array_to_string(v_tokens, '') END;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__set_member(text, text, text)
IS
'Internal. Data with the value, a JSON text, of one member at its top level set; NULL where it is no object, or where '
'that member is an object or an array.';
REVOKE ALL ON FUNCTION @extschema@.harel__set_member(text, text, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__refuse_control(p_id text, p_data text, p_version integer) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_version = 2147483647 THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST002',
            MESSAGE = 'an execution at the last version cannot be changed',
            DETAIL = format('Execution %L: the version is %s.', left(p_id, 40), p_version),
            HINT = 'Purge it, or go on with another execution in its place.';
    END IF;
    RAISE EXCEPTION USING
        ERRCODE = 'ST003',
        MESSAGE = 'data must be a JSON object with a plain status and version',
        DETAIL = format('Execution %L: data begins with %L.', left(p_id, 40), left(p_data, 40)),
        HINT = 'Commit such data first; then its status can be changed from outside.';
END
$$;
COMMENT ON FUNCTION @extschema@.harel__refuse_control(text, text, integer)
IS 'Internal. Raises ST002 or ST003 for an execution whose status cannot be changed.';
REVOKE ALL ON FUNCTION @extschema@.harel__refuse_control(text, text, integer) FROM PUBLIC;

-- The version moves, so that a worker in the middle of a step loses it.
CREATE FUNCTION @extschema@.harel__bring_to(
    p_id text, p_definition_id text, p_data text, p_version integer, p_status text, p_to text, p_strict boolean
) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_status text := p_to;
    v_data text;
BEGIN
    IF NOT @extschema@.harel__can_become(p_status, p_to) THEN
        RETURN false;
    END IF;
    v_data := CASE WHEN p_version < 2147483647
        THEN @extschema@.harel__set_member(p_data, 'version', (p_version + 1)::text)
    END;
    -- One that was not RUNNING resumes as what it was.
    IF p_to = 'SUSPENDED' AND p_status NOT IN ('RUNNING', '') THEN
        v_data := @extschema@.harel__set_member(v_data, 'resumes_as', to_json(p_status)::text);
    ELSIF p_to = 'SUSPENDED' AND @extschema@.harel__member(v_data, 'resumes_as') IS NOT NULL THEN
        -- Kept by whoever committed it out of an earlier suspension.
        v_data := @extschema@.harel__set_member(v_data, 'resumes_as', 'null');
    ELSIF p_to = 'RUNNING' THEN
        v_status := coalesce(@extschema@.harel__member(v_data, 'resumes_as'), p_to);
        IF v_status <> p_to THEN
            v_data := @extschema@.harel__set_member(v_data, 'resumes_as', 'null');
        END IF;
    END IF;
    v_data := @extschema@.harel__set_member(v_data, 'status', to_json(v_status)::text);
    IF v_data IS NULL THEN
        IF p_strict THEN
            PERFORM @extschema@.harel__refuse_control(p_id, p_data, p_version);
        END IF;
        RETURN false;
    END IF;
    RETURN @extschema@.harel__swap(p_id, p_definition_id, v_data, p_version, NULL);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__bring_to(text, text, text, integer, text, text, boolean)
IS
'Internal. Brings an execution that the caller has locked to SUSPENDED, RUNNING or CANCELLED, if it can be; returns '
'whether it was. Where data or version leaves no room it raises ST002 or ST003, or, unless p_strict, does nothing.';
REVOKE ALL ON FUNCTION @extschema@.harel__bring_to(text, text, text, integer, text, text, boolean) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__descent(p_ids text[]) RETURNS text[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
BEGIN
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_descent(p_ids);
    END IF;
    RETURN ARRAY(
        WITH RECURSIVE tree (id) AS (
            SELECT r.id COLLATE "C" FROM unnest(p_ids) AS r (id)
            UNION
            SELECT e.id
            FROM tree t
            CROSS JOIN LATERAL (
                SELECT e.id FROM @extschema@.executions e
                WHERE e.parent_id = t.id AND octet_length(e.parent_id) <= 1000
                OFFSET 0
            ) e
        )
        SELECT t.id FROM tree t
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel__descent(text[])
IS 'Internal. These ids, and those of all executions that descend from one of them, as they are at this moment.';
REVOKE ALL ON FUNCTION @extschema@.harel__descent(text[]) FROM PUBLIC;

-- Executions are locked with their descendants, then their groups, each in the order of the ids, as by harel_finish().
-- Whoever creates a child has locked its parent: the tree is whole once all in it are locked.
CREATE FUNCTION @extschema@.harel__control(p_ids text[], p_to text, p_strict boolean) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(NULL);
    v_tree text[];
    v_locked integer := 0;
    v_row record;
    v_changed text[] := '{}';
    v_groups text[];
BEGIN
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_control(p_ids, p_to, p_strict);
    END IF;
    LOOP
        v_tree := @extschema@.harel__descent(p_ids);
        EXIT WHEN cardinality(v_tree) = v_locked;
        PERFORM FROM @extschema@.executions e WHERE e.id = ANY (v_tree) ORDER BY e.id FOR NO KEY UPDATE;
        v_locked := cardinality(v_tree);
    END LOOP;
    FOR v_row IN
        SELECT e.id, e.definition_id, e.data, e.version, e.status
        FROM @extschema@.executions e
        WHERE e.id = ANY (v_tree)
        ORDER BY e.id
    LOOP
        CONTINUE WHEN NOT @extschema@.harel__bring_to(
            v_row.id, v_row.definition_id, v_row.data, v_row.version, v_row.status, p_to, p_strict
        );
        v_changed := v_changed || v_row.id;
    END LOOP;
    IF p_to = 'CANCELLED' THEN
        -- Before the groups: whoever moves them into the queue is waited for, and waits for no group.
        DELETE FROM @extschema@.timers t WHERE t.execution_id = ANY (v_changed);
        DELETE FROM @extschema@.spawns s WHERE s.parent_id = ANY (v_changed);
    END IF;
    -- A group that is made meanwhile is none of them; harel_next() sees to it.
    v_groups := ARRAY(
        SELECT g.group_id FROM @extschema@.transport_groups g
        WHERE g.group_id = ANY (v_changed)
        ORDER BY g.group_id
        FOR UPDATE
    );
    IF p_to = 'SUSPENDED' THEN
        UPDATE @extschema@.transport_groups g
        SET available_at = 'Infinity', token = NULL, worker = NULL
        WHERE g.group_id = ANY (v_groups);
    ELSIF p_to = 'RUNNING' THEN
        -- The sum keeps this from the index by time, on which all that are suspended stand in one place.
        UPDATE @extschema@.transport_groups g
        SET available_at = v_now
        WHERE g.group_id = ANY (v_groups) AND g.available_at + 0 = 'Infinity';
        PERFORM @extschema@.harel__wake();
    ELSE
        PERFORM @extschema@.harel__bury(v_groups, 'the execution was cancelled', true, v_now);
    END IF;
    RETURN v_changed <> '{}';
END
$$;
COMMENT ON FUNCTION @extschema@.harel__control(text[], text, boolean)
IS
'Internal. Brings executions, and all that descend from them, to SUSPENDED, RUNNING or CANCELLED where they can be; '
'returns whether one was. One whose data or version leaves no room for it raises ST002 or ST003, or, unless p_strict, '
'is passed over.';
REVOKE ALL ON FUNCTION @extschema@.harel__control(text[], text, boolean) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__can_become(p_status text, p_to text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE p_to
        WHEN 'RUNNING' THEN p_status = 'SUSPENDED'
        WHEN 'SUSPENDED' THEN p_status NOT IN ('SUSPENDED', 'DONE', 'CANCELLED', 'FAILED')
        ELSE p_status NOT IN ('DONE', 'CANCELLED', 'FAILED')
    END;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__can_become(text, text)
IS 'Internal. Whether an execution of one status can be brought to RUNNING, SUSPENDED or CANCELLED.';
REVOKE ALL ON FUNCTION @extschema@.harel__can_become(text, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__control_all(
    p_definition_id text, p_statuses text[], p_roots_only boolean, p_dry_run boolean, p_to text
) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_ids text[];
BEGIN
    SELECT coalesce(array_agg(e.id), '{}') INTO v_ids
    FROM @extschema@.executions e
    WHERE (p_definition_id IS NULL OR e.definition_id = p_definition_id)
        AND (p_statuses IS NULL OR e.status = ANY (p_statuses))
        AND (p_roots_only IS NOT TRUE OR e.parent_id IS NULL)
        AND @extschema@.harel__can_become(e.status, p_to);
    IF p_dry_run IS NOT TRUE THEN
        PERFORM @extschema@.harel__control(v_ids, p_to, true);
    END IF;
    RETURN cardinality(v_ids);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__control_all(text, text[], boolean, boolean, text)
IS 'Internal. harel__control() of all that match a filter; returns how many match and can be changed.';
REVOKE ALL ON FUNCTION @extschema@.harel__control_all(text, text[], boolean, boolean, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_suspend(p_id text) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_id IS NULL THEN
        PERFORM @extschema@.harel__refuse_key(p_id, 'execution id', p_id);
    END IF;
    RETURN @extschema@.harel__control(ARRAY[p_id], 'SUSPENDED', true);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_suspend(text)
IS
'Suspends an execution and its children: their messages stay in the queue until harel_resume(), and a step in '
'progress is lost. Returns whether anything was suspended. Raises ST001 for NULL, and ST002 or '
'ST003 where the last version is reached or data is no JSON object.';
REVOKE ALL ON FUNCTION @extschema@.harel_suspend(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_suspend_all(
    p_definition_id text DEFAULT NULL,
    p_statuses text[] DEFAULT NULL,
    p_roots_only boolean DEFAULT false,
    p_dry_run boolean DEFAULT false
) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN @extschema@.harel__control_all(p_definition_id, p_statuses, p_roots_only, p_dry_run, 'SUSPENDED');
END
$$;
COMMENT ON FUNCTION @extschema@.harel_suspend_all(text, text[], boolean, boolean)
IS
'harel_suspend() of all executions of a definition (NULL: any) with one of these statuses (NULL: any), or only of '
'those without a parent; p_dry_run changes nothing. Returns how many match and can be suspended, not counting the '
'children of these. Raises ST002 or ST003 for what cannot be by itself, and then none is.';
REVOKE ALL ON FUNCTION @extschema@.harel_suspend_all(text, text[], boolean, boolean) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_resume(p_id text) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_id IS NULL THEN
        PERFORM @extschema@.harel__refuse_key(p_id, 'execution id', p_id);
    END IF;
    RETURN @extschema@.harel__control(ARRAY[p_id], 'RUNNING', true);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_resume(text)
IS
'Resumes a suspended execution and its children, in the status that they had; their messages can be claimed again. '
'Returns whether anything was resumed. Raises ST001 for NULL, and ST002 or ST003 where the last version is reached or '
'data is no JSON object.';
REVOKE ALL ON FUNCTION @extschema@.harel_resume(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_resume_all(
    p_definition_id text DEFAULT NULL,
    p_statuses text[] DEFAULT NULL,
    p_roots_only boolean DEFAULT false,
    p_dry_run boolean DEFAULT false
) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN @extschema@.harel__control_all(p_definition_id, p_statuses, p_roots_only, p_dry_run, 'RUNNING');
END
$$;
COMMENT ON FUNCTION @extschema@.harel_resume_all(text, text[], boolean, boolean)
IS
'harel_resume() of all executions of a definition (NULL: any) with one of these statuses (NULL: any), or only of '
'those without a parent; p_dry_run changes nothing. Returns how many match and can be resumed, not counting the '
'children of these. Raises ST002 or ST003 for what cannot be by itself, and then none is.';
REVOKE ALL ON FUNCTION @extschema@.harel_resume_all(text, text[], boolean, boolean) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_cancel(p_id text) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_id IS NULL THEN
        PERFORM @extschema@.harel__refuse_key(p_id, 'execution id', p_id);
    END IF;
    RETURN @extschema@.harel__control(ARRAY[p_id], 'CANCELLED', true);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_cancel(text)
IS
'Cancels an execution and its children: their timers and pending spawns are removed, their messages become dead '
'letters, and a step in progress is lost. Returns whether anything was cancelled. Raises ST001 for NULL, and ST002 '
'or ST003 where the last version is reached or data is no JSON object.';
REVOKE ALL ON FUNCTION @extschema@.harel_cancel(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_cancel_all(
    p_definition_id text DEFAULT NULL,
    p_statuses text[] DEFAULT NULL,
    p_roots_only boolean DEFAULT false,
    p_dry_run boolean DEFAULT false
) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN @extschema@.harel__control_all(p_definition_id, p_statuses, p_roots_only, p_dry_run, 'CANCELLED');
END
$$;
COMMENT ON FUNCTION @extschema@.harel_cancel_all(text, text[], boolean, boolean)
IS
'harel_cancel() of all executions of a definition (NULL: any) with one of these statuses (NULL: any), or only of '
'those without a parent; p_dry_run changes nothing. Returns how many match and can be cancelled, not counting the '
'children of these. Raises ST002 or ST003 for what cannot be by itself, and then none is.';
REVOKE ALL ON FUNCTION @extschema@.harel_cancel_all(text, text[], boolean, boolean) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_send(
    p_id text, p_event text, p_now double precision DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
    v_priority integer;
BEGIN
    SELECT e.priority INTO v_priority FROM @extschema@.executions e WHERE e.id = p_id;
    IF v_priority IS NULL AND p_id IS NOT NULL THEN
        PERFORM @extschema@.harel__refuse_elsewhere(ARRAY[p_id]);
        RETURN NULL;
    END IF;
    RETURN @extschema@.harel_publish(p_id, p_event, v_priority, p_now);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_send(text, text, double precision)
IS
'harel_publish() at the priority of the execution that the event is for; NULL, and nothing published, where there is '
'no such execution. Raises ST001, ST003 or ST006, and ST018 for an execution of another shard.';
REVOKE ALL ON FUNCTION @extschema@.harel_send(text, text, double precision) FROM PUBLIC;
CREATE FUNCTION @extschema@.harel_purge(p_id text, p_expected_version bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
DECLARE
    v_version integer;
BEGIN
    IF p_id IS NULL THEN
        PERFORM @extschema@.harel__refuse_key(p_id, 'execution id', p_id);
    END IF;
    IF p_expected_version IS NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST002',
            MESSAGE = 'a purge must name the version that it expects',
            DETAIL = format('Execution %L: the version is NULL.', left(p_id, 40)),
            HINT = 'Pass the version that was loaded: an execution that has moved on since is not purged.';
    END IF;
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_purge(p_id, p_expected_version);
    END IF;
    LOOP
        SELECT e.version INTO v_version FROM @extschema@.executions e WHERE e.id = p_id FOR UPDATE;
        EXIT WHEN FOUND OR octet_length(p_id) NOT BETWEEN 1 AND 1000;
        -- Takes the place of one that does not exist: a first save must wait, or what it writes would be taken for
        -- what is left.
        INSERT INTO @extschema@.executions (id, definition_id, data, version)
        VALUES (p_id, '', '', 1)
        ON CONFLICT (id) DO NOTHING;
        EXIT WHEN FOUND;
    END LOOP;
    IF v_version <> p_expected_version THEN
        RETURN false;
    END IF;
    DELETE FROM @extschema@.executions e WHERE e.id = p_id;
    -- What is on its way into the queue goes before the queue: whoever moves it there is waited for, and waits for no
    -- group. So are dead letters, which harel_redrive() locks before their groups.
    DELETE FROM @extschema@.timers t WHERE t.execution_id = p_id;
    -- What it has emitted for others is theirs.
    DELETE FROM @extschema@.outbox o WHERE o.target_id = p_id;
    DELETE FROM @extschema@.spawns s WHERE s.parent_id = p_id;
    DELETE FROM @extschema@.dead_letters d WHERE d.group_id = p_id;
    PERFORM FROM @extschema@.transport_groups g WHERE g.group_id = p_id FOR UPDATE;
    -- Without a group there are no messages; those of one that is made meanwhile are not of the past.
    IF FOUND THEN
        DELETE FROM @extschema@.transport_messages m WHERE m.group_id = p_id;
        DELETE FROM @extschema@.transport_groups g WHERE g.group_id = p_id;
    END IF;
    -- Those that came from the queue while this waited.
    DELETE FROM @extschema@.dead_letters d
    WHERE d.id IN (SELECT l.id FROM @extschema@.dead_letters l WHERE l.group_id = p_id FOR UPDATE SKIP LOCKED);
    DELETE FROM @extschema@.trace t WHERE t.execution_id = p_id;
    DELETE FROM @extschema@.processed_events p WHERE p.execution_id = p_id;
    RETURN v_version IS NOT NULL;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_purge(text, bigint)
IS
'Removes an execution and everything of it: its messages, dead letters, timers, trace, ledger, pending spawns and the '
'events that wait for it; unless its version is no longer p_expected_version. What it emitted for others stays. Where '
'there is no such execution, what is left of it is removed all the same. Returns whether an execution was removed. '
'Raises ST001 or ST002 for NULL.';
REVOKE ALL ON FUNCTION @extschema@.harel_purge(text, bigint) FROM PUBLIC;

-- Sweeps: a bounded batch at each call, which waits for no execution that is being worked on.

CREATE FUNCTION @extschema@.harel__time_before(p_older_than double precision, p_now double precision)
RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
BEGIN
    PERFORM @extschema@.harel__check_duration('age', p_older_than);
    -- Within the years that a timestamp can hold.
    RETURN to_timestamp(least(greatest(v_now - p_older_than, -200000000000), 200000000000));
END
$$;
COMMENT ON FUNCTION @extschema@.harel__time_before(double precision, double precision)
IS 'Internal. The time p_older_than seconds before p_now (NULL: now). Raises ST006 or ST011.';
REVOKE ALL ON FUNCTION @extschema@.harel__time_before(double precision, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__archive(p_archive text) RETURNS regproc
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_function regprocedure;
BEGIN
    IF p_archive IS NULL THEN
        RETURN NULL;
    END IF;
    BEGIN
        v_function := to_regprocedure(p_archive);
    EXCEPTION WHEN OTHERS THEN
        -- What is no signature raises one error or another.
        v_function := NULL;
    END;
    IF NOT EXISTS (
        SELECT FROM pg_proc p
        WHERE p.oid = v_function AND p.prokind = 'f' AND oidvectortypes(p.proargtypes) = 'text, text'
    ) THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST013',
            MESSAGE = 'the archive must be a function of an id and its data, both text',
            DETAIL = format('It is %L.', left(p_archive, 100)),
            HINT = 'Pass its name with the schema, for instance archive.keep(text,text).';
    END IF;
    RETURN v_function::oid;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__archive(text)
IS 'Internal. The function of this name that takes two texts; NULL for NULL, and otherwise raises ST013.';
REVOKE ALL ON FUNCTION @extschema@.harel__archive(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_purge_finished(
    p_older_than double precision,
    p_limit integer DEFAULT 1000,
    p_archive text DEFAULT NULL,
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
    v_archive regproc := @extschema@.harel__archive(p_archive);
    v_exe record;
    v_ids text[] := '{}';
BEGIN
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_purge_finished(v_before, p_limit, v_archive);
    END IF;
    FOR v_exe IN
        SELECT e.id, e.data
        FROM @extschema@.executions e
        WHERE e.finished_at IS NOT NULL
            AND e.finished_at < v_before
            -- OFFSET 0: each is looked up by its key, whatever was known of the tables when the plan was made.
            AND NOT EXISTS (SELECT FROM @extschema@.transport_groups g WHERE g.group_id = e.id OFFSET 0)
            AND NOT EXISTS (SELECT FROM @extschema@.outbox o WHERE o.target_id = e.id OFFSET 0)
            AND NOT EXISTS (SELECT FROM @extschema@.spawns s WHERE s.parent_id = e.id OFFSET 0)
        ORDER BY e.finished_at
        LIMIT p_limit
        FOR UPDATE OF e SKIP LOCKED
    LOOP
        IF v_archive IS NOT NULL THEN
            -- A regproc is written with its schema and in quotes where it needs them.
            EXECUTE format('SELECT %s($1, $2)', v_archive) USING v_exe.id, v_exe.data;
        END IF;
        v_ids := v_ids || v_exe.id;
    END LOOP;
    DELETE FROM @extschema@.executions e WHERE e.id = ANY (v_ids);
    DELETE FROM @extschema@.dead_letters d WHERE d.group_id = ANY (v_ids);
    DELETE FROM @extschema@.timers t WHERE t.execution_id = ANY (v_ids);
    DELETE FROM @extschema@.trace t WHERE t.execution_id = ANY (v_ids);
    DELETE FROM @extschema@.processed_events p WHERE p.execution_id = ANY (v_ids);
    RETURN cardinality(v_ids);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_purge_finished(double precision, integer, text, double precision)
IS
'Removes up to p_limit executions (NULL: all) that finished more than p_older_than seconds ago, longest ago first, '
'each with its timers, trace, ledger and dead letters. One for which something waits in the queue or the outbox, or '
'whose children are yet to be created, and one that is being worked on, is left for another call. p_archive: a '
'function called with the id and the data of each before it goes, with nothing but pg_catalog in the search path; '
'where it raises, all stay. Returns how many were removed. Raises ST006, ST008, ST011 or ST013.';
REVOKE ALL ON FUNCTION @extschema@.harel_purge_finished(double precision, integer, text, double precision)
FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_purge_processed(
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
    IF @extschema@.harel__is_distributed() THEN
        RETURN @extschema@.harel__everywhere_purge_processed(v_before, p_limit);
    END IF;
    v_tids := ARRAY(
        SELECT p.ctid
        FROM @extschema@.processed_events p
        WHERE p.processed_at < v_before
        ORDER BY p.processed_at
        LIMIT p_limit
        FOR UPDATE SKIP LOCKED
    );
    DELETE FROM @extschema@.processed_events p WHERE p.ctid = ANY (v_tids);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_purge_processed(double precision, integer, double precision)
IS
'Forgets up to p_limit events (NULL: all) that were handled more than p_older_than seconds ago, oldest first: one '
'delivered once more would be handled again. Returns how many. Raises ST006, ST008 or ST011.';
REVOKE ALL ON FUNCTION @extschema@.harel_purge_processed(double precision, integer, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_ids_with_prefix(p_prefix text, p_limit integer DEFAULT NULL) RETURNS SETOF text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    v_id text;
    v_left integer := p_limit;
BEGIN
    IF p_prefix IS NULL THEN
        PERFORM @extschema@.harel__refuse_key(NULL, 'prefix', p_prefix);
    END IF;
    PERFORM @extschema@.harel__check_limit(p_limit);
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY
        SELECT e.id FROM @extschema@.executions e
        WHERE pg_catalog.starts_with(e.id, p_prefix)
        ORDER BY e.id
        LIMIT p_limit;
        RETURN;
    END IF;
    -- The ids with a prefix stand together; the first without it ends the walk.
    FOR v_id IN SELECT e.id FROM @extschema@.executions e WHERE e.id >= p_prefix ORDER BY e.id LOOP
        EXIT WHEN v_left <= 0 OR NOT pg_catalog.starts_with(v_id, p_prefix);
        v_left := v_left - 1;
        RETURN NEXT v_id;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_ids_with_prefix(text, integer)
IS
'The ids of the executions that begin with these very characters, in the order of their bytes, at most p_limit (NULL: '
'all). Raises ST001 for NULL, and ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_ids_with_prefix(text, integer) FROM PUBLIC;
-- Logical replication brings the rows, but before PostgreSQL 19 no sequence: a subscriber that takes over would give
-- numbers again that its rows already have.
CREATE FUNCTION @extschema@.harel_reset_sequences() RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_moved integer := 0;
BEGIN
    -- There each node has numbers of its own, which come with its rows.
    IF @extschema@.harel__is_distributed() THEN
        RETURN 0;
    END IF;
    -- With the tables locked, nobody takes a number between the look at a sequence and its move.
    LOCK TABLE @extschema@.outbox IN SHARE ROW EXCLUSIVE MODE;
    PERFORM setval('@extschema@.outbox_seq_seq', o.seq)
    FROM (SELECT max(seq) AS seq FROM @extschema@.outbox) o, @extschema@.outbox_seq_seq s
    WHERE o.seq > s.last_value OR o.seq = s.last_value AND NOT s.is_called;
    v_moved := v_moved + FOUND::integer;
    LOCK TABLE @extschema@.spawns IN SHARE ROW EXCLUSIVE MODE;
    PERFORM setval('@extschema@.spawns_seq_seq', w.seq)
    FROM (SELECT max(seq) AS seq FROM @extschema@.spawns) w, @extschema@.spawns_seq_seq s
    WHERE w.seq > s.last_value OR w.seq = s.last_value AND NOT s.is_called;
    v_moved := v_moved + FOUND::integer;
    PERFORM setval('@extschema@.shards_joined', 1)
    WHERE pg_sequence_last_value('@extschema@.shards_joined') IS NULL
        AND EXISTS (SELECT FROM @extschema@.shards s WHERE s.joined_at IS NOT NULL);
    v_moved := v_moved + FOUND::integer;
    RETURN v_moved;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_reset_sequences()
IS
'Moves the sequences of outbox and spawns past what these tables hold, and never back, and gives shards_joined its '
'value where there is a map of the shards; returns how many were moved. To be called where the rows came by logical '
'replication, before the first commit.';
REVOKE ALL ON FUNCTION @extschema@.harel_reset_sequences() FROM PUBLIC;
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
-- DROP EXTENSION takes all rows with it and asks nobody, unless an object that is not of the extension depends on it. A
-- view of the name below is such an object, and PostgreSQL's refusal shows the name.
CREATE FUNCTION @extschema@.harel_protect(p_on boolean DEFAULT true) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_on IS FALSE THEN
        DROP VIEW IF EXISTS @extschema@.executions_are_kept;
        RETURN;
    END IF;
    IF to_regclass('@extschema@.executions_are_kept') IS NOT NULL THEN
        RETURN;
    END IF;
    CREATE VIEW @extschema@.executions_are_kept AS
    SELECT count(*) AS executions FROM @extschema@.executions;
    COMMENT ON VIEW @extschema@.executions_are_kept
    IS 'Makes DROP EXTENSION harel refuse to remove the store, until harel_protect(false) has been called.';
    -- Whoever owns the store must be able to take it away again.
    EXECUTE format(
        'ALTER VIEW %s OWNER TO %I',
        '@extschema@.executions_are_kept'::regclass,
        (SELECT pg_get_userbyid(c.relowner) FROM pg_class c WHERE c.oid = '@extschema@.executions'::regclass)
    );
    -- In the script of an upgrade it has become a member, which would go with the others.
    IF EXISTS (
        SELECT FROM pg_depend d
        WHERE d.classid = 'pg_class'::regclass
            AND d.objid = '@extschema@.executions_are_kept'::regclass
            AND d.deptype = 'e'
    ) THEN
        ALTER EXTENSION harel DROP VIEW @extschema@.executions_are_kept;
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_protect(boolean)
IS
'Makes DROP EXTENSION harel refuse to remove the store, or with false lets it again, by a view that depends on the '
'table of executions. harel_grant() calls it.';
REVOKE ALL ON FUNCTION @extschema@.harel_protect(boolean) FROM PUBLIC;
CREATE FUNCTION @extschema@.harel_version() RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN '1.1';
END
$$;
COMMENT ON FUNCTION @extschema@.harel_version()
IS 'The version of this store, whether it was created as an extension or by the plain script.';
REVOKE ALL ON FUNCTION @extschema@.harel_version() FROM PUBLIC;
-- PUBLIC has nothing: each function revokes what PostgreSQL grants by default. Whoever creates the store owns it, may
-- do everything and lets others in.
--
-- What Citus does not bring to the other nodes, because it belongs to an extension.
CREATE FUNCTION @extschema@.harel__grant_here(p_role name, p_access text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_relation regclass;
    v_function regprocedure;
BEGIN
    -- The functions run with the rights of their caller, who therefore needs the tables too.
    FOREACH v_relation IN ARRAY ARRAY[
        '@extschema@.executions', '@extschema@.outbox', '@extschema@.processed_events',
        '@extschema@.timers', '@extschema@.spawns', '@extschema@.trace',
        '@extschema@.transport_groups', '@extschema@.transport_messages', '@extschema@.dead_letters',
        '@extschema@.shards', '@extschema@.shard_receipts'
    ]::regclass[] LOOP
        EXECUTE format('REVOKE ALL ON %s FROM %I', v_relation, p_role);
        IF p_access = 'worker' THEN
            EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I', v_relation, p_role);
        ELSIF p_access = 'reader' THEN
            EXECUTE format('GRANT SELECT ON %s TO %I', v_relation, p_role);
        END IF;
    END LOOP;
    IF p_access <> 'none' THEN
        EXECUTE format('GRANT USAGE ON SCHEMA %s TO %I', '@extschema@'::regnamespace, p_role);
    END IF;
    FOREACH v_relation IN ARRAY ARRAY[
        '@extschema@.outbox_seq_seq', '@extschema@.spawns_seq_seq', '@extschema@.shards_joined',
        '@extschema@.transport_floor', '@extschema@.transport_tend_at', '@extschema@.transport_lift_at',
        '@extschema@.transport_asleep_until'
    ]::regclass[] LOOP
        EXECUTE format('REVOKE ALL ON SEQUENCE %s FROM %I', v_relation, p_role);
        IF p_access = 'worker' THEN
            EXECUTE format('GRANT USAGE, SELECT, UPDATE ON SEQUENCE %s TO %I', v_relation, p_role);
        ELSIF p_access = 'reader' THEN
            EXECUTE format('GRANT SELECT ON SEQUENCE %s TO %I', v_relation, p_role);
        END IF;
    END LOOP;
    -- A reader may call what does not write, which the catalog says of each function.
    FOR v_function IN
        SELECT p.oid::regprocedure
        FROM pg_proc p
        WHERE p.pronamespace = '@extschema@'::regnamespace
            AND pg_catalog.starts_with(p.proname, 'harel_')
            AND p.proname NOT IN ('harel_grant', 'harel_adopt', 'harel_protect', 'harel_distribute')
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
COMMENT ON FUNCTION @extschema@.harel__grant_here(name, text)
IS 'Internal. harel_grant(), on this node.';
REVOKE ALL ON FUNCTION @extschema@.harel__grant_here(name, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__roles() RETURNS TABLE (name name, access text)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT r.rolname, CASE WHEN bool_or(p.proname = 'harel_commit_batch') THEN 'worker' ELSE 'reader' END
    FROM pg_proc p
    CROSS JOIN LATERAL aclexplode(p.proacl) a
    JOIN pg_roles r ON r.oid = a.grantee
    WHERE p.pronamespace = '@extschema@'::regnamespace
        AND p.proname IN ('harel_commit_batch', 'harel_load')
        AND a.privilege_type = 'EXECUTE'
        AND a.grantee <> p.proowner
    GROUP BY r.rolname;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__roles()
IS 'Internal. The roles that harel_grant() has let in, and as what.';
REVOKE ALL ON FUNCTION @extschema@.harel__roles() FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_grant(p_role name, p_access text DEFAULT 'worker') RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_access IS NULL OR p_access NOT IN ('worker', 'reader', 'none') THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST009',
            MESSAGE = 'unknown kind of access',
            DETAIL = format(
                'Role %s, access %s.',
                coalesce(quote_ident(p_role), 'NULL'), coalesce(quote_literal(left(p_access, 40)), 'NULL')
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

    IF @extschema@.harel__is_distributed() THEN
        -- First, as the other nodes have transactions of their own, which must not wait for this one.
        PERFORM @extschema@.harel__grant_elsewhere(p_role, p_access);
    END IF;

    -- A store that others use is not to be dropped by mistake.
    IF p_access <> 'none' THEN
        PERFORM @extschema@.harel_protect();
    END IF;

    PERFORM @extschema@.harel__grant_here(p_role, p_access);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_grant(name, text)
IS
'Gives a role exactly this access to the store: worker (loads, lists and commits), reader (loads and lists) or none. '
'A store that others use is protected from DROP EXTENSION: see harel_protect(). Of a store on several nodes it is to '
'be called on the coordinator, and again after a node was added. Raises ST009.';
REVOKE ALL ON FUNCTION @extschema@.harel_grant(name, text) FROM PUBLIC;
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
-- What a store does that is spread over several nodes. First what is done for one execution: harel_distribute() sends
-- these to the node that has its rows, where each statement must name the id, by the column that rows are spread by,
-- and touches nothing of another. They are called from a FROM clause with the id as their first argument, and with
-- custom plans only, or Citus would not send them. A statement that looks for the rows of an id in one table, and holds
-- nothing else, it plans in a third of the time of any other.

CREATE FUNCTION @extschema@.harel__bury_group(
    p_group_id text, p_reason text, p_all boolean, p_now double precision
) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_group record;
    v_message record;
BEGIN
    SELECT g.head, g.tail, g.attempts, g.claimed_at
    INTO v_group
    FROM @extschema@.transport_groups g
    WHERE g.group_id = p_group_id
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    FOR v_message IN
        SELECT m.seq, m.event, m.published_at
        FROM @extschema@.transport_messages m
        WHERE m.group_id = p_group_id
            AND m.seq >= v_group.head
            AND m.seq <= CASE WHEN p_all THEN v_group.tail ELSE v_group.head END
    LOOP
        INSERT INTO @extschema@.dead_letters (
            group_id, id, seq, event, reason, attempts, published_at, delivered_at, dead_at
        ) VALUES (
            p_group_id, gen_random_uuid(), v_message.seq, v_message.event,
            coalesce(p_reason, format('delivered %s times without having been handled', v_group.attempts)),
            CASE WHEN v_message.seq = v_group.head THEN v_group.attempts ELSE 0 END,
            v_message.published_at,
            CASE WHEN v_message.seq = v_group.head AND v_group.attempts > 0 THEN v_group.claimed_at END,
            clock_timestamp()
        );
    END LOOP;
    DELETE FROM @extschema@.transport_messages m
    WHERE m.group_id = p_group_id
        AND m.seq >= v_group.head
        AND m.seq <= CASE WHEN p_all THEN v_group.tail ELSE v_group.head END;
    IF p_all OR v_group.head = v_group.tail THEN
        DELETE FROM @extschema@.transport_groups g WHERE g.group_id = p_group_id;
    ELSE
        UPDATE @extschema@.transport_groups g
        SET head = g.head + 1, available_at = p_now, attempts = 0, token = NULL, worker = NULL
        WHERE g.group_id = p_group_id;
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__bury_group(text, text, boolean, double precision)
IS 'Internal. harel__bury() of one group.';
REVOKE ALL ON FUNCTION @extschema@.harel__bury_group(text, text, boolean, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__claim_group(
    p_group_id text,
    p_worker text,
    p_visibility double precision,
    p_min_priority integer,
    p_max_attempts integer,
    p_load boolean,
    p_token uuid,
    p_now double precision,
    OUT state text,
    OUT seq bigint,
    OUT event text,
    OUT attempts integer,
    OUT definition_id text,
    OUT data text,
    OUT version integer,
    OUT status text,
    OUT already_processed boolean
) RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_claimed_at timestamptz := clock_timestamp();
    v_event_id text;
BEGIN
    SELECT g.head, g.attempts + 1
    INTO seq, attempts
    FROM @extschema@.transport_groups g
    WHERE g.group_id = p_group_id AND g.available_at + 0 <= p_now AND g.priority >= p_min_priority
    FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        state := 'taken';
        RETURN;
    ELSIF attempts > p_max_attempts THEN
        -- What is behind it comes after those that wait.
        state := 'exhausted';
        PERFORM @extschema@.harel__bury_group(p_group_id, NULL, false, p_now);
        RETURN;
    END IF;
    SELECT m.event INTO event FROM @extschema@.transport_messages m
    WHERE m.group_id = p_group_id AND m.seq = harel__claim_group.seq;
    state := 'given';
    IF p_load THEN
        v_event_id := @extschema@.harel__member(event, 'id');
        SELECT e.definition_id, e.data, e.version, e.status
        INTO definition_id, data, version, status
        FROM @extschema@.executions e
        WHERE e.id = p_group_id;
        PERFORM FROM @extschema@.processed_events p
        WHERE p.execution_id = p_group_id AND p.event_id = v_event_id;
        already_processed := FOUND;
        IF version IS NULL THEN
            state := 'unknown';
        ELSIF status = 'SUSPENDED' THEN
            state := 'suspended';
            UPDATE @extschema@.transport_groups g
            SET available_at = 'Infinity', token = NULL, worker = NULL
            WHERE g.group_id = p_group_id;
            RETURN;
        ELSIF status IN ('CANCELLED', 'FAILED') AND NOT already_processed THEN
            state := 'buried';
            UPDATE @extschema@.transport_groups g
            SET attempts = g.attempts + 1, claimed_at = v_claimed_at
            WHERE g.group_id = p_group_id;
            PERFORM @extschema@.harel__bury_group(p_group_id, format('the execution is %s', status), true, p_now);
            RETURN;
        END IF;
    END IF;
    UPDATE @extschema@.transport_groups g
    SET available_at = p_now + p_visibility,
        token = p_token,
        worker = p_worker,
        attempts = harel__claim_group.attempts,
        claimed_at = v_claimed_at
    WHERE g.group_id = p_group_id;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__claim_group(
    text, text, double precision, integer, integer, boolean, uuid, double precision
) IS
'Internal. harel_claim(), or harel_next() where p_load, of one group that may be available: whether its message is '
'given, was delivered too often, or the group is taken, buried or suspended, or leased for an execution that is '
'unknown.';
REVOKE ALL ON FUNCTION @extschema@.harel__claim_group(
    text, text, double precision, integer, integer, boolean, uuid, double precision
) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__refuse_group(p_group_id text, p_expected boolean, p_now double precision)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
BEGIN
    IF p_expected OR EXISTS (SELECT FROM @extschema@.executions e WHERE e.id = p_group_id) THEN
        UPDATE @extschema@.transport_groups g
        SET available_at = p_now + 0.1, token = NULL, worker = NULL, attempts = g.attempts - 1
        WHERE g.group_id = p_group_id;
    ELSE
        PERFORM @extschema@.harel__bury_group(p_group_id, 'there is no such execution', true, p_now);
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__refuse_group(text, boolean, double precision)
IS 'Internal. harel__drop_unknown() of one group, of which the caller knows whether its execution is asked for.';
REVOKE ALL ON FUNCTION @extschema@.harel__refuse_group(text, boolean, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__extend_group(
    p_group_id text, p_token uuid, p_visibility double precision, p_now double precision
) RETURNS double precision
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_deadline double precision;
BEGIN
    SELECT g.available_at INTO v_deadline
    FROM @extschema@.transport_groups g
    WHERE g.group_id = p_group_id AND g.token = p_token AND g.available_at + 0 > p_now;
    IF NOT FOUND OR v_deadline >= p_now + p_visibility THEN
        RETURN v_deadline;
    END IF;
    -- This waits for nobody, as harel_extend().
    PERFORM FROM @extschema@.transport_groups g
    WHERE g.group_id = p_group_id AND g.token = p_token AND g.available_at + 0 > p_now
    FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE @extschema@.transport_groups g SET available_at = p_now + p_visibility WHERE g.group_id = p_group_id;
        v_deadline := p_now + p_visibility;
    END IF;
    RETURN v_deadline;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__extend_group(text, uuid, double precision, double precision)
IS 'Internal. The deadline of a lease, moved if it can be; NULL where the lease is over.';
REVOKE ALL ON FUNCTION @extschema@.harel__extend_group(text, uuid, double precision, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__finish_group(
    p_group_id text,
    p_token uuid,
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
    p_trace_max integer,
    p_now double precision,
    OUT result text,
    OUT stored_version integer,
    OUT outbox_seqs bigint[]
) RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_head bigint;
    v_tail bigint;
BEGIN
    outbox_seqs := '{}';
    PERFORM FROM @extschema@.executions e WHERE e.id = p_group_id FOR NO KEY UPDATE;
    SELECT g.head, g.tail INTO v_head, v_tail
    FROM @extschema@.transport_groups g
    WHERE g.group_id = p_group_id AND g.token = p_token AND g.available_at + 0 > p_now
    FOR UPDATE;
    IF NOT FOUND THEN
        result := 'expired';
        RETURN;
    END IF;
    IF p_data IS NOT NULL THEN
        outbox_seqs := @extschema@.harel__commit(
            p_group_id, p_defn, p_data, p_old, p_event, p_emit_targets, p_emit_events,
            p_spawn_children, p_spawn_root_paths, p_spawn_contexts,
            p_timer_actions, p_timer_paths, p_timer_fire_ats, p_trace, p_trace_max
        );
        IF outbox_seqs IS NULL THEN
            result := 'conflict';
            outbox_seqs := '{}';
            SELECT e.version INTO stored_version FROM @extschema@.executions e WHERE e.id = p_group_id;
            RETURN;
        END IF;
        stored_version := p_old + 1;
    END IF;
    IF @extschema@.harel__settle_group(p_group_id, v_head, v_tail, p_now) THEN
        PERFORM @extschema@.harel__wake();
    END IF;
    result := 'finished';
END
$$;
COMMENT ON FUNCTION @extschema@.harel__finish_group(
    text, uuid, text, text, bigint, text, text[], text[], text[], text[], text[], text[], text[], double precision[],
    text, integer, double precision
) IS 'Internal. harel_finish() of one message; events and children wait in the outbox and in spawns.';
REVOKE ALL ON FUNCTION @extschema@.harel__finish_group(
    text, uuid, text, text, bigint, text, text[], text[], text[], text[], text[], text[], text[], double precision[],
    text, integer, double precision
) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__enqueue_group(
    p_group_id text, p_events text[], p_priority integer, p_now double precision
) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_base bigint := extract(epoch FROM clock_timestamp()) * 1000000;
    v_count integer := cardinality(p_events);
    v_priority integer := p_priority;
    v_tail bigint;
BEGIN
    IF v_priority IS NULL THEN
        SELECT e.priority INTO v_priority FROM @extschema@.executions e WHERE e.id = p_group_id;
        v_priority := coalesce(v_priority, 0);
    END IF;
    INSERT INTO @extschema@.transport_groups AS g (group_id, available_at, head, tail, priority)
    VALUES (p_group_id, p_now, v_base, v_base + v_count - 1, v_priority)
    ON CONFLICT (group_id) DO UPDATE SET tail = g.tail + 1 + excluded.tail - excluded.head
    RETURNING g.tail INTO v_tail;
    FOR i IN 1 .. v_count LOOP
        INSERT INTO @extschema@.transport_messages (group_id, seq, event, published_at)
        VALUES (p_group_id, v_tail - v_count + i, p_events[i], clock_timestamp());
    END LOOP;
    PERFORM @extschema@.harel__wake();
END
$$;
COMMENT ON FUNCTION @extschema@.harel__enqueue_group(text, text[], integer, double precision)
IS 'Internal. harel__enqueue() of the events of one group, at one priority (NULL: that of the execution).';
REVOKE ALL ON FUNCTION @extschema@.harel__enqueue_group(text, text[], integer, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__receive_events(p_group_id text, p_events text[], p_now double precision)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET lock_timeout = '10ms'
AS $$
BEGIN
    PERFORM FROM @extschema@.transport_groups g WHERE g.group_id = p_group_id FOR UPDATE SKIP LOCKED;
    IF NOT FOUND AND EXISTS (SELECT FROM @extschema@.transport_groups g WHERE g.group_id = p_group_id) THEN
        RETURN false;
    END IF;
    PERFORM @extschema@.harel__enqueue_group(p_group_id, p_events, NULL, p_now);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__receive_events(text, text[], double precision)
IS 'Internal. Puts events at the end of a group, unless another transaction has locked it or is making it.';
REVOKE ALL ON FUNCTION @extschema@.harel__receive_events(text, text[], double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__take_events(
    p_source_id text, p_limit integer, p_relay boolean, p_without text[]
) RETURNS TABLE (seq bigint, target_id text, event text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
BEGIN
    -- One relay at a time for each source, as by harel_relay().
    IF p_relay AND NOT pg_try_advisory_xact_lock(hashtextextended('harel.relay:@extschema@:' || p_source_id, 0)) THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT o.seq, o.target_id, o.event
    FROM @extschema@.outbox o
    WHERE o.source_id = p_source_id
        AND (NOT p_relay OR o.target_id IS NOT NULL AND o.target_id <> ALL (p_without))
    ORDER BY o.version, o.ord, o.seq
    LIMIT p_limit
    FOR UPDATE SKIP LOCKED;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__take_events(text, integer, boolean, text[])
IS
'Internal. Locks the first events that a source has in the outbox, in its order; for a relay those with a target, '
'but for some, and none while another relay has some.';
REVOKE ALL ON FUNCTION @extschema@.harel__take_events(text, integer, boolean, text[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__drop_events(p_source_id text, p_seqs bigint[]) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_count integer;
BEGIN
    DELETE FROM @extschema@.outbox o WHERE o.source_id = p_source_id AND o.seq = ANY (p_seqs);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__drop_events(text, bigint[])
IS 'Internal. harel_settle_outbox() of events of one source.';
REVOKE ALL ON FUNCTION @extschema@.harel__drop_events(text, bigint[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__take_spawns(p_parent_id text, p_limit integer)
RETURNS TABLE (
    seq bigint, child_id text, root_path text, context text, definition_id text, priority smallint, status text
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_parent record;
    v_left integer := p_limit;
BEGIN
    -- As harel_relay_spawns() does.
    SELECT e.definition_id, e.priority, e.status INTO v_parent
    FROM @extschema@.executions e
    WHERE e.id = p_parent_id
    FOR SHARE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    FOR seq, child_id, root_path, context IN
        SELECT s.seq, s.child_id, s.root_path, s.context
        FROM @extschema@.spawns s
        WHERE s.parent_id = p_parent_id
        ORDER BY s.version, s.ord, s.seq
        FOR UPDATE SKIP LOCKED
    LOOP
        EXIT WHEN v_left <= 0;
        CONTINUE WHEN NOT @extschema@.harel__is_json(context);
        definition_id := v_parent.definition_id;
        priority := v_parent.priority;
        status := v_parent.status;
        v_left := v_left - 1;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__take_spawns(text, integer)
IS
'Internal. Locks the first children that an execution has asked for, and the execution: none while it is being worked '
'on.';
REVOKE ALL ON FUNCTION @extschema@.harel__take_spawns(text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__drop_spawns(p_parent_id text, p_seqs bigint[]) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_count integer;
BEGIN
    DELETE FROM @extschema@.spawns s WHERE s.parent_id = p_parent_id AND s.seq = ANY (p_seqs);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__drop_spawns(text, bigint[])
IS 'Internal. Removes requests for children of one execution; returns how many were pending.';
REVOKE ALL ON FUNCTION @extschema@.harel__drop_spawns(text, bigint[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__receive_child(
    p_child_id text,
    p_parent_id text,
    p_definition_id text,
    p_priority integer,
    p_root_path text,
    p_context text,
    p_suspended boolean,
    p_now double precision
) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_start text := @extschema@.harel__create_child(
        p_parent_id, p_definition_id, p_priority, p_child_id, p_root_path, p_context
    );
BEGIN
    IF v_start IS NOT NULL THEN
        PERFORM @extschema@.harel__enqueue_group(p_child_id, ARRAY[v_start], NULL, p_now);
        IF p_suspended THEN
            PERFORM @extschema@.harel__control_execution(p_child_id, 'SUSPENDED', false, p_now);
        END IF;
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__receive_child(text, text, text, integer, text, text, boolean, double precision)
IS 'Internal. Creates a child execution, if its id is free, with its Start event in the queue.';
REVOKE ALL ON FUNCTION @extschema@.harel__receive_child(
    text, text, text, integer, text, text, boolean, double precision
) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__fire_timers_of(p_execution_id text, p_now double precision, p_limit integer)
RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET extra_float_digits = 1
AS $$
DECLARE
    v_timer record;
    v_paths text[] := '{}';
    v_events text[] := '{}';
BEGIN
    FOR v_timer IN
        SELECT t.path, t.fire_at
        FROM @extschema@.timers t
        WHERE t.execution_id = p_execution_id AND t.fire_at + 0 <= p_now
        ORDER BY t.fire_at + 0, t.path
        LIMIT p_limit
        FOR UPDATE SKIP LOCKED
    LOOP
        v_paths := v_paths || v_timer.path;
        v_events := v_events || @extschema@.harel__timeout(p_execution_id, v_timer.path, v_timer.fire_at);
    END LOOP;
    IF v_paths = '{}' OR NOT @extschema@.harel__receive_events(p_execution_id, v_events, p_now) THEN
        RETURN 0;
    END IF;
    DELETE FROM @extschema@.timers t WHERE t.execution_id = p_execution_id AND t.path = ANY (v_paths);
    RETURN cardinality(v_paths);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__fire_timers_of(text, double precision, integer)
IS 'Internal. harel_fire_timers() of one execution.';
REVOKE ALL ON FUNCTION @extschema@.harel__fire_timers_of(text, double precision, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__lock_execution(p_id text) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_version integer;
BEGIN
    SELECT e.version INTO v_version FROM @extschema@.executions e WHERE e.id = p_id FOR NO KEY UPDATE;
    RETURN v_version;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__lock_execution(text)
IS 'Internal. Locks an execution until the end of the transaction; its version, or NULL where there is none.';
REVOKE ALL ON FUNCTION @extschema@.harel__lock_execution(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__control_execution(
    p_id text, p_to text, p_strict boolean, p_now double precision
) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    -- Not a record: the collation of a column would become that of the id in what is called.
    v_definition_id text;
    v_data text;
    v_version integer;
    v_status text;
BEGIN
    SELECT e.definition_id, e.data, e.version, e.status INTO v_definition_id, v_data, v_version, v_status
    FROM @extschema@.executions e
    WHERE e.id = p_id
    FOR NO KEY UPDATE;
    IF NOT FOUND OR NOT @extschema@.harel__bring_to(
        p_id, v_definition_id, v_data, v_version, v_status, p_to, p_strict
    ) THEN
        RETURN false;
    END IF;
    IF p_to = 'CANCELLED' THEN
        DELETE FROM @extschema@.timers t WHERE t.execution_id = p_id;
        DELETE FROM @extschema@.spawns s WHERE s.parent_id = p_id;
        PERFORM @extschema@.harel__bury_group(p_id, 'the execution was cancelled', true, p_now);
    ELSIF p_to = 'SUSPENDED' THEN
        UPDATE @extschema@.transport_groups g
        SET available_at = 'Infinity', token = NULL, worker = NULL
        WHERE g.group_id = p_id;
    ELSE
        UPDATE @extschema@.transport_groups g
        SET available_at = p_now
        WHERE g.group_id = p_id AND g.available_at + 0 = 'Infinity';
        PERFORM @extschema@.harel__wake();
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__control_execution(text, text, boolean, double precision)
IS 'Internal. harel__control() of one execution without those that descend from it.';
REVOKE ALL ON FUNCTION @extschema@.harel__control_execution(text, text, boolean, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__purge_execution(p_id text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
BEGIN
    DELETE FROM @extschema@.executions e WHERE e.id = p_id;
    DELETE FROM @extschema@.timers t WHERE t.execution_id = p_id;
    DELETE FROM @extschema@.spawns s WHERE s.parent_id = p_id;
    PERFORM FROM @extschema@.transport_groups g WHERE g.group_id = p_id FOR UPDATE;
    IF FOUND THEN
        DELETE FROM @extschema@.transport_messages m WHERE m.group_id = p_id;
        DELETE FROM @extschema@.transport_groups g WHERE g.group_id = p_id;
    END IF;
    DELETE FROM @extschema@.dead_letters d WHERE d.group_id = p_id;
    DELETE FROM @extschema@.trace t WHERE t.execution_id = p_id;
    DELETE FROM @extschema@.processed_events p WHERE p.execution_id = p_id;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__purge_execution(text)
IS 'Internal. Removes what lies beside an execution, and itself, for a caller that has locked it.';
REVOKE ALL ON FUNCTION @extschema@.harel__purge_execution(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__redrive_group(p_group_id text, p_ids uuid[], p_now double precision) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_base bigint := extract(epoch FROM clock_timestamp()) * 1000000;
    v_letter record;
    v_priority integer;
    v_head bigint;
    v_count integer := 0;
BEGIN
    SELECT e.priority INTO v_priority FROM @extschema@.executions e WHERE e.id = p_group_id;
    FOR v_letter IN
        SELECT d.id, d.event, d.published_at
        FROM @extschema@.dead_letters d
        WHERE d.group_id = p_group_id AND d.id = ANY (p_ids)
        ORDER BY d.published_at DESC, d.seq DESC
        FOR UPDATE SKIP LOCKED
    LOOP
        INSERT INTO @extschema@.transport_groups AS g (group_id, available_at, head, tail, priority)
        VALUES (p_group_id, p_now, v_base, v_base, coalesce(v_priority, 0))
        ON CONFLICT (group_id) DO UPDATE
        SET head = g.head - 1,
            available_at = CASE WHEN g.available_at = 'Infinity' THEN 'Infinity' ELSE excluded.available_at END,
            attempts = 0,
            token = NULL,
            worker = NULL
        RETURNING g.head INTO v_head;
        INSERT INTO @extschema@.transport_messages (group_id, seq, event, published_at)
        VALUES (p_group_id, v_head, v_letter.event, v_letter.published_at);
        DELETE FROM @extschema@.dead_letters d WHERE d.group_id = p_group_id AND d.id = v_letter.id;
        v_count := v_count + 1;
    END LOOP;
    IF v_count > 0 THEN
        PERFORM @extschema@.harel__wake();
    END IF;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__redrive_group(text, uuid[], double precision)
IS 'Internal. harel_redrive() of some dead letters of one group.';
REVOKE ALL ON FUNCTION @extschema@.harel__redrive_group(text, uuid[], double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__lock_finished(p_id text, p_before timestamptz) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_version integer;
BEGIN
    SELECT e.version INTO v_version
    FROM @extschema@.executions e
    WHERE e.id = p_id AND e.finished_at < p_before
    FOR UPDATE SKIP LOCKED;
    IF EXISTS (SELECT FROM @extschema@.transport_groups g WHERE g.group_id = p_id)
        OR EXISTS (SELECT FROM @extschema@.spawns s WHERE s.parent_id = p_id)
    THEN
        RETURN NULL;
    END IF;
    RETURN v_version;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__lock_finished(text, timestamptz)
IS
'Internal. Locks an execution that can be purged, having finished before a time; its version, or NULL where it cannot, '
'or another has locked it.';
REVOKE ALL ON FUNCTION @extschema@.harel__lock_finished(text, timestamptz) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__forget_events(p_execution_id text, p_event_ids text[]) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_count integer;
BEGIN
    DELETE FROM @extschema@.processed_events p
    WHERE p.execution_id = p_execution_id AND p.event_id = ANY (p_event_ids);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__forget_events(text, text[])
IS 'Internal. Removes events of one execution from the ledger; returns how many.';
REVOKE ALL ON FUNCTION @extschema@.harel__forget_events(text, text[]) FROM PUBLIC;
-- What is done over all executions of a store that is spread over several nodes. Each of these stands in for the
-- function of its name: a query over all nodes finds the ids, and then the node of each does the work, in one
-- transaction.

CREATE FUNCTION @extschema@.harel__everywhere_next(
    p_worker text,
    p_visibility double precision,
    p_limit integer,
    p_min_priority integer,
    p_urgent integer,
    p_max_attempts integer,
    p_load boolean,
    p_now double precision
) RETURNS TABLE (
    group_id text, seq bigint, event text, token uuid, deadline double precision, attempts integer,
    definition_id text, data text, version integer, status text, already_processed boolean
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_row record;
    v_tried text[] := '{}';
    v_candidates text[];
    v_given integer := 0;
    v_expected boolean;
BEGIN
    IF p_max_attempts < 1 THEN
        PERFORM @extschema@.harel__refuse_attempts(p_max_attempts);
    END IF;
    deadline := v_now + p_visibility;
    token := gen_random_uuid();
    WHILE v_given < p_limit LOOP
        -- Some more than are wanted, as others look at the same moment. Those of one moment by their numbers, which
        -- begin at the time.
        SELECT array_agg(c.group_id ORDER BY c.is_urgent DESC, c.urgency DESC, c.available_at, c.head)
        INTO v_candidates
        FROM (
            (
                SELECT g.group_id, g.available_at, g.head, g.priority AS urgency, true AS is_urgent
                FROM @extschema@.transport_groups g
                WHERE g.priority > 0
                    AND g.priority >= p_min_priority
                    AND g.available_at <= v_now
                    AND g.group_id <> ALL (v_tried)
                ORDER BY g.priority DESC, g.available_at, g.head
                LIMIT p_urgent
            )
            UNION ALL
            (
                SELECT g.group_id, g.available_at, g.head, 0, false
                FROM @extschema@.transport_groups g
                WHERE g.available_at <= v_now
                    AND g.priority >= p_min_priority
                    AND g.group_id <> ALL (v_tried)
                ORDER BY g.available_at, g.head
                LIMIT p_limit - v_given + 10
            )
        ) c;
        EXIT WHEN v_candidates IS NULL;
        FOREACH group_id IN ARRAY v_candidates LOOP
            EXIT WHEN v_given = p_limit;
            CONTINUE WHEN group_id = ANY (v_tried);
            SELECT * INTO v_row
            FROM @extschema@.harel__claim_group(
                group_id, p_worker, p_visibility, p_min_priority, p_max_attempts, p_load, token, v_now
            );
            CONTINUE WHEN v_row.state = 'exhausted';
            v_tried := v_tried || group_id;
            IF v_row.state = 'unknown' THEN
                SELECT count(*) > 0 INTO v_expected FROM @extschema@.spawns s WHERE s.child_id = group_id;
                PERFORM FROM @extschema@.harel__refuse_group(group_id, v_expected, v_now);
            ELSIF v_row.state = 'given' THEN
                seq := v_row.seq;
                event := v_row.event;
                attempts := v_row.attempts;
                definition_id := v_row.definition_id;
                data := v_row.data;
                version := v_row.version;
                status := v_row.status;
                already_processed := v_row.already_processed;
                v_given := v_given + 1;
                RETURN NEXT;
            END IF;
        END LOOP;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_next(
    text, double precision, integer, integer, integer, integer, boolean, double precision
) IS
'Internal. harel_claim(), or harel_next() where p_load, over all nodes; up to p_urgent of the messages by priority. A '
'group that another has locked is passed over.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_next(
    text, double precision, integer, integer, integer, integer, boolean, double precision
) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_extend(
    p_group_ids text[], p_tokens uuid[], p_visibility double precision, p_now double precision
) RETURNS TABLE (group_id text, deadline double precision)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_token uuid;
BEGIN
    FOR group_id, v_token IN
        SELECT DISTINCT l.group_id, l.token FROM unnest(p_group_ids, p_tokens) AS l (group_id, token)
        WHERE l.group_id IS NOT NULL AND l.token IS NOT NULL
    LOOP
        SELECT x.* INTO deadline FROM @extschema@.harel__extend_group(group_id, v_token, p_visibility, p_now) x;
        IF deadline IS NOT NULL THEN
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_extend(text[], uuid[], double precision, double precision)
IS 'Internal. harel_extend() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_extend(text[], uuid[], double precision, double precision)
FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_finish(
    p_group_ids text[],
    p_tokens uuid[],
    p_defns text[],
    p_datas text[],
    p_olds bigint[],
    p_events text[],
    p_emit_ends integer[],
    p_emit_targets text[],
    p_emit_events text[],
    p_spawn_ends integer[],
    p_spawn_children text[],
    p_spawn_root_paths text[],
    p_spawn_contexts text[],
    p_timer_ends integer[],
    p_timer_actions text[],
    p_timer_paths text[],
    p_timer_fire_ats double precision[],
    p_traces text[],
    p_trace_max integer,
    p_now double precision
) RETURNS TABLE (group_id text, result text, stored_version integer, outbox_seqs bigint[])
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_row record;
    v_results text[];
    v_versions integer[];
    v_seqs bigint[] := '{}';
    v_seq_starts integer[];
    v_seq_ends integer[];
    v_place integer;
    e integer;
    s integer;
    t integer;
BEGIN
    -- By id, as harel_finish() locks them.
    FOR group_id, v_place IN
        SELECT b.id, b.place FROM unnest(p_group_ids) WITH ORDINALITY AS b (id, place)
        ORDER BY b.id COLLATE "C", b.place
    LOOP
        IF group_id IS NULL OR p_tokens[v_place] IS NULL THEN
            PERFORM @extschema@.harel__refuse_lease(group_id);
        END IF;
        -- What nothing can be made of is refused here, and would otherwise stay in spawns.
        FOR c IN coalesce(p_spawn_ends[v_place - 1], 0) + 1 .. coalesce(p_spawn_ends[v_place], 0) LOOP
            PERFORM @extschema@.harel__fields(p_spawn_children[c], p_spawn_contexts[c]);
        END LOOP;
        e := coalesce(p_emit_ends[v_place - 1], 0) + 1;
        s := coalesce(p_spawn_ends[v_place - 1], 0) + 1;
        t := coalesce(p_timer_ends[v_place - 1], 0) + 1;
        SELECT * INTO v_row
        FROM @extschema@.harel__finish_group(
            group_id, p_tokens[v_place], p_defns[v_place], p_datas[v_place], p_olds[v_place], p_events[v_place],
            p_emit_targets[e:p_emit_ends[v_place]], p_emit_events[e:p_emit_ends[v_place]],
            p_spawn_children[s:p_spawn_ends[v_place]], p_spawn_root_paths[s:p_spawn_ends[v_place]],
            p_spawn_contexts[s:p_spawn_ends[v_place]],
            p_timer_actions[t:p_timer_ends[v_place]], p_timer_paths[t:p_timer_ends[v_place]],
            p_timer_fire_ats[t:p_timer_ends[v_place]],
            p_traces[v_place], p_trace_max, p_now
        );
        v_results[v_place] := v_row.result;
        v_versions[v_place] := v_row.stored_version;
        v_seq_starts[v_place] := cardinality(v_seqs) + 1;
        v_seqs := v_seqs || v_row.outbox_seqs;
        v_seq_ends[v_place] := cardinality(v_seqs);
    END LOOP;
    RETURN QUERY
    SELECT b.id, v_results[b.place], v_versions[b.place], v_seqs[v_seq_starts[b.place]:v_seq_ends[b.place]]
    FROM unnest(p_group_ids) WITH ORDINALITY AS b (id, place)
    ORDER BY b.place;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_finish(
    text[], uuid[], text[], text[], bigint[], text[], integer[], text[], text[], integer[], text[], text[], text[],
    integer[], text[], text[], double precision[], text[], integer, double precision
) IS 'Internal. harel_finish() over all nodes; the items of each commit end where the lists of ends say.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_finish(
    text[], uuid[], text[], text[], bigint[], text[], integer[], text[], text[], integer[], text[], text[], text[],
    integer[], text[], text[], double precision[], text[], integer, double precision
) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_publish(
    p_group_ids text[], p_events text[], p_priorities integer[], p_now double precision
) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_group record;
BEGIN
    FOR v_group IN
        SELECT
            m.group_id,
            array_agg(m.event ORDER BY m.place) AS events,
            (array_agg(m.priority ORDER BY m.place))[1] AS priority
        FROM unnest(p_group_ids, p_events, p_priorities) WITH ORDINALITY AS m (group_id, event, priority, place)
        GROUP BY m.group_id
        ORDER BY m.group_id COLLATE "C"
    LOOP
        PERFORM FROM @extschema@.harel__enqueue_group(v_group.group_id, v_group.events, v_group.priority, p_now);
    END LOOP;
    PERFORM @extschema@.harel__wake();
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_publish(text[], text[], integer[], double precision)
IS 'Internal. harel__enqueue() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_publish(text[], text[], integer[], double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_take_outbox(p_limit integer)
RETURNS TABLE (seq bigint, target_id text, event text, source_id text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_left integer := p_limit;
    v_source text;
BEGIN
    FOR v_source IN
        SELECT DISTINCT o.source_id FROM (SELECT o.source_id FROM @extschema@.outbox o ORDER BY o.source_id) o
        ORDER BY o.source_id
    LOOP
        EXIT WHEN v_left <= 0;
        FOR seq, target_id, event IN
            SELECT * FROM @extschema@.harel__take_events(v_source, v_left, false, '{}')
        LOOP
            source_id := nullif(v_source, '');
            v_left := v_left - 1;
            RETURN NEXT;
        END LOOP;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_take_outbox(integer)
IS 'Internal. harel_take_outbox() over all nodes, source by source.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_take_outbox(integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_settle_outbox(p_seqs bigint[]) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_source record;
    v_dropped integer;
    v_count integer := 0;
BEGIN
    FOR v_source IN
        SELECT o.source_id, array_agg(o.seq) AS seqs FROM @extschema@.outbox o
        WHERE o.seq = ANY (p_seqs)
        GROUP BY o.source_id
        ORDER BY o.source_id
    LOOP
        SELECT x.* INTO v_dropped FROM @extschema@.harel__drop_events(v_source.source_id, v_source.seqs) x;
        v_count := v_count + v_dropped;
    END LOOP;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_settle_outbox(bigint[])
IS 'Internal. harel_settle_outbox() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_settle_outbox(bigint[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_ack_spawn(p_seq bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_parent text;
    v_count integer := 0;
BEGIN
    SELECT s.parent_id INTO v_parent FROM @extschema@.spawns s WHERE s.seq = p_seq;
    IF FOUND THEN
        SELECT x.* INTO v_count FROM @extschema@.harel__drop_spawns(v_parent, ARRAY[p_seq]) x;
    END IF;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_ack_spawn(bigint)
IS 'Internal. harel_ack_spawn() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_ack_spawn(bigint) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_relay(p_limit integer, p_now double precision) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_source text;
    v_sources text[];
    v_tried text[] := '{}';
    v_event record;
    v_source_ids text[] := '{}';
    v_seqs bigint[] := '{}';
    v_dropped bigint[];
    v_targets text[] := '{}';
    v_events text[] := '{}';
    v_target record;
    v_received boolean;
    v_busy text[] := '{}';
    v_moved integer := 0;
BEGIN
    LOOP
        -- A source that a look found nothing to move of must not hide those behind it, nor a target that is busy what
        -- its sources have for others.
        SELECT array_agg(DISTINCT o.source_id) INTO v_sources
        FROM (
            SELECT o.source_id
            FROM @extschema@.outbox o
            WHERE o.target_id IS NOT NULL
                AND o.source_id <> ALL (v_tried)
                AND o.target_id <> ALL (v_busy)
            LIMIT p_limit
        ) o;
        EXIT WHEN v_sources IS NULL;
        FOREACH v_source IN ARRAY v_sources LOOP
            FOR v_event IN
                SELECT * FROM @extschema@.harel__take_events(v_source, p_limit - cardinality(v_seqs), true, v_busy)
            LOOP
                v_source_ids := v_source_ids || v_source;
                v_seqs := v_seqs || v_event.seq;
                v_targets := v_targets || v_event.target_id;
                v_events := v_events || v_event.event;
            END LOOP;
            IF NOT FOUND THEN
                v_tried := v_tried || v_source;
            END IF;
            EXIT WHEN cardinality(v_seqs) >= p_limit;
        END LOOP;
        -- In the order of the ids, as all lock groups that lock several.
        FOR v_target IN
            SELECT o.target_id, array_agg(o.event ORDER BY o.place) AS events
            FROM unnest(v_targets, v_events) WITH ORDINALITY AS o (target_id, event, place)
            GROUP BY o.target_id
            ORDER BY o.target_id COLLATE "C"
        LOOP
            SELECT x.* INTO v_received
            FROM @extschema@.harel__receive_events(v_target.target_id, v_target.events, p_now) x;
            IF NOT v_received THEN
                v_busy := v_busy || v_target.target_id;
            END IF;
        END LOOP;
        FOR v_source, v_dropped IN
            SELECT o.source_id, array_agg(o.seq)
            FROM unnest(v_source_ids, v_seqs, v_targets) AS o (source_id, seq, target_id)
            WHERE o.target_id <> ALL (v_busy)
            GROUP BY o.source_id
            ORDER BY o.source_id COLLATE "C"
        LOOP
            PERFORM FROM @extschema@.harel__drop_events(v_source, v_dropped);
            v_moved := v_moved + cardinality(v_dropped);
        END LOOP;
        EXIT WHEN v_moved > 0;
        v_source_ids := '{}';
        v_seqs := '{}';
        v_targets := '{}';
        v_events := '{}';
    END LOOP;
    IF v_moved > 0 THEN
        PERFORM @extschema@.harel__wake();
    END IF;
    RETURN v_moved;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_relay(integer, double precision)
IS
'Internal. harel_relay() over all nodes: of each source only one relay at a time moves events. An event leaves the '
'outbox of the one node and comes into the queue of the other in one transaction.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_relay(integer, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_relay_spawns(p_limit integer, p_now double precision) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_parent text;
    v_parents text[];
    v_tried text[] := '{}';
    v_parent_ids text[] := '{}';
    v_seqs bigint[] := '{}';
    v_dropped bigint[];
    v_children jsonb[] := '{}';
    v_spawn record;
    v_child record;
BEGIN
    LOOP
        SELECT array_agg(DISTINCT s.parent_id) INTO v_parents
        FROM (
            SELECT s.parent_id FROM @extschema@.spawns s
            WHERE s.parent_id <> ALL (v_tried)
            LIMIT p_limit
        ) s;
        EXIT WHEN v_parents IS NULL;
        FOREACH v_parent IN ARRAY v_parents LOOP
            FOR v_spawn IN
                SELECT * FROM @extschema@.harel__take_spawns(v_parent, p_limit - cardinality(v_seqs))
            LOOP
                v_parent_ids := v_parent_ids || v_parent;
                v_seqs := v_seqs || v_spawn.seq;
                v_children := v_children || to_jsonb(v_spawn);
            END LOOP;
            v_tried := v_tried || v_parent;
            EXIT WHEN cardinality(v_seqs) >= p_limit;
        END LOOP;
        EXIT WHEN v_seqs <> '{}';
    END LOOP;
    FOR v_child IN
        SELECT
            c.child ->> 'child_id' AS id, p.id AS parent_id, c.child ->> 'definition_id' AS definition_id,
            (c.child ->> 'priority')::integer AS priority, c.child ->> 'root_path' AS root_path,
            c.child ->> 'context' AS context, c.child ->> 'status' = 'SUSPENDED' AS is_suspended
        FROM unnest(v_parent_ids, v_children) WITH ORDINALITY AS p (id, child, place)
        CROSS JOIN LATERAL (SELECT p.child) c
        ORDER BY c.child ->> 'child_id' COLLATE "C", p.place
    LOOP
        PERFORM FROM @extschema@.harel__receive_child(
            v_child.id, v_child.parent_id, v_child.definition_id, v_child.priority, v_child.root_path, v_child.context,
            v_child.is_suspended, p_now
        );
    END LOOP;
    FOR v_parent, v_dropped IN
        SELECT p.id, array_agg(p.seq) FROM unnest(v_parent_ids, v_seqs) AS p (id, seq)
        GROUP BY p.id
        ORDER BY p.id COLLATE "C"
    LOOP
        PERFORM FROM @extschema@.harel__drop_spawns(v_parent, v_dropped);
    END LOOP;
    IF v_seqs <> '{}' THEN
        PERFORM @extschema@.harel__wake();
    END IF;
    RETURN cardinality(v_seqs);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_relay_spawns(integer, double precision)
IS 'Internal. harel_relay_spawns() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_relay_spawns(integer, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_fire_timers(p_now double precision, p_limit integer) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_id text;
    v_count integer;
    v_fired integer := 0;
BEGIN
    FOR v_id IN
        SELECT d.execution_id
        FROM (
            SELECT t.execution_id FROM @extschema@.timers t
            WHERE t.fire_at <= p_now
            ORDER BY t.fire_at, t.execution_id, t.path
            LIMIT p_limit
        ) d
        GROUP BY d.execution_id
        ORDER BY d.execution_id
    LOOP
        EXIT WHEN v_fired >= p_limit;
        SELECT x.* INTO v_count FROM @extschema@.harel__fire_timers_of(v_id, p_now, p_limit - v_fired) x;
        v_fired := v_fired + v_count;
    END LOOP;
    IF v_fired > 0 THEN
        PERFORM @extschema@.harel__wake();
    END IF;
    RETURN v_fired;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_fire_timers(double precision, integer)
IS 'Internal. harel_fire_timers() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_fire_timers(double precision, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_next_at(p_now double precision) RETURNS double precision
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_fire_at double precision;
    v_available_at double precision;
BEGIN
    SELECT t.fire_at INTO v_fire_at FROM @extschema@.timers t ORDER BY t.fire_at, t.execution_id, t.path LIMIT 1;
    SELECT g.available_at INTO v_available_at
    FROM @extschema@.transport_groups g
    WHERE g.available_at > p_now AND g.available_at < 'Infinity'
    ORDER BY g.available_at
    LIMIT 1;
    RETURN least(v_fire_at, v_available_at);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_next_at(double precision)
IS 'Internal. When the next timer, parked message or lease is due, over all nodes, for harel_tick().';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_next_at(double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_descent(p_ids text[]) RETURNS text[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_tree text[] := ARRAY(SELECT DISTINCT r.id FROM unnest(p_ids) AS r (id));
    v_new text[];
BEGIN
    LOOP
        SELECT array_agg(e.id) INTO v_new
        FROM @extschema@.executions e
        WHERE e.parent_id = ANY (v_tree) AND octet_length(e.parent_id) <= 1000 AND e.id <> ALL (v_tree);
        EXIT WHEN v_new IS NULL;
        v_tree := v_tree || v_new;
    END LOOP;
    RETURN v_tree;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_descent(text[])
IS 'Internal. harel__descent() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_descent(text[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_control(p_ids text[], p_to text, p_strict boolean) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(NULL);
    v_tree text[] := ARRAY(SELECT DISTINCT r.id FROM unnest(p_ids) AS r (id));
    v_locked text[] := '{}';
    v_id text;
    v_changed boolean;
    v_any boolean := false;
BEGIN
    -- As harel__control() does: the tree is whole once all in it are locked.
    LOOP
        FOR v_id IN SELECT t.id FROM unnest(v_tree) AS t (id) WHERE t.id <> ALL (v_locked) ORDER BY t.id COLLATE "C" LOOP
            PERFORM FROM @extschema@.harel__lock_execution(v_id);
        END LOOP;
        v_locked := v_tree;
        SELECT v_tree || coalesce(array_agg(e.id), '{}') INTO v_tree
        FROM @extschema@.executions e
        WHERE e.parent_id = ANY (v_locked) AND octet_length(e.parent_id) <= 1000 AND e.id <> ALL (v_locked);
        EXIT WHEN cardinality(v_tree) = cardinality(v_locked);
    END LOOP;
    FOR v_id IN SELECT t.id FROM unnest(v_tree) AS t (id) ORDER BY t.id COLLATE "C" LOOP
        SELECT x.* INTO v_changed FROM @extschema@.harel__control_execution(v_id, p_to, p_strict, v_now) x;
        v_any := v_any OR v_changed;
    END LOOP;
    IF v_any THEN
        PERFORM @extschema@.harel__wake();
    END IF;
    RETURN v_any;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_control(text[], text, boolean)
IS 'Internal. harel__control() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_control(text[], text, boolean) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_purge(p_id text, p_expected_version bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_version integer;
BEGIN
    SELECT x.* INTO v_version FROM @extschema@.harel__lock_execution(p_id) x;
    IF v_version <> p_expected_version THEN
        RETURN false;
    END IF;
    DELETE FROM @extschema@.outbox o WHERE o.target_id = p_id;
    PERFORM FROM @extschema@.harel__purge_execution(p_id);
    RETURN v_version IS NOT NULL;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_purge(text, bigint)
IS 'Internal. harel_purge() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_purge(text, bigint) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_purge_finished(
    p_before timestamptz, p_limit integer, p_archive regproc
) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_exe record;
    v_version integer;
    v_expected text[];
    v_purged integer := 0;
BEGIN
    FOR v_exe IN
        SELECT e.id, e.data, e.version
        FROM @extschema@.executions e
        WHERE e.finished_at IS NOT NULL
            AND e.finished_at < p_before
            AND NOT EXISTS (SELECT FROM @extschema@.transport_groups g WHERE g.group_id = e.id)
            AND NOT EXISTS (SELECT FROM @extschema@.spawns s WHERE s.parent_id = e.id)
        ORDER BY e.finished_at
        LIMIT p_limit
    LOOP
        -- One that another works on, or that has changed, is left for another call.
        SELECT x.* INTO v_version FROM @extschema@.harel__lock_finished(v_exe.id, p_before) x;
        CONTINUE WHEN v_version IS DISTINCT FROM v_exe.version;
        SELECT array_agg(o.source_id) INTO v_expected FROM @extschema@.outbox o WHERE o.target_id = v_exe.id;
        CONTINUE WHEN v_expected IS NOT NULL;
        IF p_archive IS NOT NULL THEN
            EXECUTE format('SELECT %s($1, $2)', p_archive) USING v_exe.id, v_exe.data;
        END IF;
        PERFORM FROM @extschema@.harel__purge_execution(v_exe.id);
        v_purged := v_purged + 1;
    END LOOP;
    RETURN v_purged;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_purge_finished(timestamptz, integer, regproc)
IS 'Internal. harel_purge_finished() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_purge_finished(timestamptz, integer, regproc) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_purge_processed(p_before timestamptz, p_limit integer) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_row record;
    v_forgotten integer;
    v_count integer := 0;
BEGIN
    FOR v_row IN
        SELECT p.execution_id, array_agg(p.event_id) AS event_ids
        FROM (
            SELECT p.execution_id, p.event_id
            FROM @extschema@.processed_events p
            WHERE p.processed_at < p_before
            ORDER BY p.processed_at
            LIMIT p_limit
        ) p
        GROUP BY p.execution_id
        ORDER BY p.execution_id
    LOOP
        SELECT x.* INTO v_forgotten FROM @extschema@.harel__forget_events(v_row.execution_id, v_row.event_ids) x;
        v_count := v_count + v_forgotten;
    END LOOP;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_purge_processed(timestamptz, integer)
IS 'Internal. harel_purge_processed() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_purge_processed(timestamptz, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_redrive(
    p_group_id text, p_id uuid, p_limit integer, p_now double precision
) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_group record;
    v_driven integer;
    v_count integer := 0;
BEGIN
    FOR v_group IN
        SELECT l.group_id, array_agg(l.id) AS ids
        FROM (
            SELECT l.group_id, l.id
            FROM @extschema@.dead_letters l
            WHERE (p_group_id IS NULL OR l.group_id = p_group_id) AND (p_id IS NULL OR l.id = p_id)
            ORDER BY l.dead_at, l.seq
            LIMIT p_limit
        ) l
        GROUP BY l.group_id
        ORDER BY l.group_id
    LOOP
        SELECT x.* INTO v_driven FROM @extschema@.harel__redrive_group(v_group.group_id, v_group.ids, p_now) x;
        v_count := v_count + v_driven;
    END LOOP;
    IF v_count > 0 THEN
        PERFORM @extschema@.harel__wake();
    END IF;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_redrive(text, uuid, integer, double precision)
IS 'Internal. harel_redrive() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_redrive(text, uuid, integer, double precision) FROM PUBLIC;
-- What is read over all executions of a store that is spread over several nodes. An order with a limit Citus asks of
-- all shards at once. What it cannot plan so is asked of each shard by a function that runs beside it, on the tables
-- that the shard consists of: there every index serves as on a single server, and PostgreSQL knows how much there is.

CREATE FUNCTION @extschema@.harel__shards() RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_shards integer;
    v_tries integer;
    v_ids text[];
BEGIN
    EXECUTE 'SELECT count(*) FROM pg_dist_shard s WHERE s.logicalrelid = $1'
    INTO v_shards USING '@extschema@.executions'::regclass;
    v_tries := v_shards * 16;
    -- A shard is named by some id that would be in it, whether or not there is such an execution.
    LOOP
        EXECUTE
            'SELECT array_agg(s.id) FROM ('
            'SELECT min(n.id) AS id FROM (SELECT n::text AS id FROM generate_series(1, $2) n) n '
            'GROUP BY get_shard_id_for_distribution_column($1, n.id)'
            ') s'
        INTO v_ids USING '@extschema@.executions'::regclass, v_tries;
        EXIT WHEN cardinality(v_ids) >= v_shards;
        v_tries := v_tries * 2;
    END LOOP;
    RETURN v_ids;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__shards()
IS 'Internal. For each shard of a distributed store an id that belongs to it.';
REVOKE ALL ON FUNCTION @extschema@.harel__shards() FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__shard(p_table text, p_id text) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_shard bigint;
BEGIN
    EXECUTE 'SELECT get_shard_id_for_distribution_column($1, $2)'
    INTO v_shard USING ('@extschema@.' || p_table)::regclass, p_id;
    RETURN format('@extschema@.%I', p_table || '_' || v_shard);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__shard(text, text)
IS 'Internal. The name of the table that holds the rows of an id, on the node where they are.';
REVOKE ALL ON FUNCTION @extschema@.harel__shard(text, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__statuses_of_shard(p_id text, p_definition_id text) RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
    v_statuses text[];
BEGIN
    -- As harel_list() does.
    IF p_definition_id IS NULL THEN
        EXECUTE format($sql$
            WITH RECURSIVE found (status) AS (
                SELECT min(e.status) FROM %1$s e
                UNION ALL
                SELECT (SELECT min(e.status) FROM %1$s e WHERE e.status > f.status)
                FROM found f
                WHERE f.status IS NOT NULL
            )
            SELECT array_agg(f.status) FROM found f WHERE f.status IS NOT NULL
        $sql$, @extschema@.harel__shard('executions', p_id))
        INTO v_statuses;
    ELSE
        EXECUTE format($sql$
            WITH RECURSIVE found (definition_id, status) AS (
                (
                    SELECT e.definition_id, e.status FROM %1$s e
                    WHERE (e.definition_id, e.status) >= ($1, '')
                    ORDER BY e.definition_id, e.status
                    LIMIT 1
                )
                UNION ALL
                SELECT n.definition_id, n.status
                FROM found f
                CROSS JOIN LATERAL (
                    SELECT e.definition_id, e.status FROM %1$s e
                    WHERE (e.definition_id, e.status) > (f.definition_id, f.status)
                    ORDER BY e.definition_id, e.status
                    LIMIT 1
                ) AS n
                WHERE f.definition_id = $1
            )
            SELECT array_agg(f.status) FROM found f WHERE f.definition_id = $1
        $sql$, @extschema@.harel__shard('executions', p_id))
        INTO v_statuses USING p_definition_id;
    END IF;
    RETURN coalesce(v_statuses, '{}');
END
$$;
COMMENT ON FUNCTION @extschema@.harel__statuses_of_shard(text, text)
IS 'Internal. The statuses that the executions of a shard have, those of one definition (NULL: all).';
REVOKE ALL ON FUNCTION @extschema@.harel__statuses_of_shard(text, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__list_of_shard(
    p_id text,
    p_definition_id text,
    p_statuses text[],
    p_roots_only boolean,
    p_after text,
    p_before text,
    p_limit bigint
) RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    v_executions text := @extschema@.harel__shard('executions', p_id);
    v_ids text[];
BEGIN
    IF p_definition_id IS NULL AND p_statuses IS NULL AND p_roots_only IS NOT TRUE THEN
        EXECUTE format($sql$
            SELECT ARRAY(
                SELECT e.id FROM %s e
                WHERE e.id > $1 AND ($2 IS NULL OR e.id < $2)
                ORDER BY e.id
                LIMIT $3
            )
        $sql$, v_executions)
        INTO v_ids USING p_after, p_before, p_limit;
    ELSE
        EXECUTE format($sql$
            SELECT ARRAY(
                SELECT b.id
                FROM (SELECT DISTINCT unnest($2)) AS s (status)
                CROSS JOIN unnest($3) AS r (is_root)
                CROSS JOIN LATERAL (
                    SELECT e.id FROM %s e
                    WHERE %s e.status = s.status AND (e.parent_id IS NULL) = r.is_root
                        AND e.id > $4 AND ($5 IS NULL OR e.id < $5)
                    ORDER BY e.id
                    LIMIT $6
                ) AS b
                ORDER BY b.id
                LIMIT $6
            )
        $sql$, v_executions, CASE WHEN p_definition_id IS NOT NULL THEN 'e.definition_id = $1 AND' ELSE '' END)
        INTO v_ids
        USING
            p_definition_id,
            coalesce(p_statuses, @extschema@.harel__statuses_of_shard(p_id, p_definition_id)),
            CASE WHEN p_roots_only THEN ARRAY[true] ELSE ARRAY[true, false] END,
            p_after,
            p_before,
            p_limit;
    END IF;
    RETURN v_ids;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__list_of_shard(text, text, text[], boolean, text, text, bigint)
IS
'Internal. The ids of one shard that could be on a page of harel_list(): after one id, and before another (NULL: to '
'the last).';
REVOKE ALL ON FUNCTION @extschema@.harel__list_of_shard(text, text, text[], boolean, text, text, bigint) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_list(
    p_definition_id text, p_statuses text[], p_roots_only boolean, p_after text, p_limit bigint
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
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_shard text;
    v_some text[];
    v_ids text[] := '{}';
    v_next text;
BEGIN
    FOREACH v_shard IN ARRAY @extschema@.harel__shards() LOOP
        -- A page found so far bounds what the other shards can add to it.
        SELECT x.* INTO v_some
        FROM @extschema@.harel__list_of_shard(
            v_shard, p_definition_id, p_statuses, p_roots_only, p_after,
            CASE WHEN cardinality(v_ids) = p_limit THEN v_ids[cardinality(v_ids)] END, p_limit
        ) x;
        v_ids := ARRAY(SELECT i.id FROM unnest(v_ids || v_some) AS i (id) ORDER BY i.id COLLATE "C" LIMIT p_limit);
    END LOOP;
    IF cardinality(v_ids) = p_limit THEN
        v_next := @extschema@.harel__cursor(v_ids[cardinality(v_ids) - 1]);
    END IF;
    RETURN QUERY
    SELECT
        e.id, e.definition_id, nullif(e.status, ''), e.outcome, e.active_path, e.version, e.parent_id,
        e.created_at, e.updated_at, e.finished_at,
        -- On whichever row is the last: one may have been deleted since its id was found.
        CASE WHEN lead(e.id) OVER (ORDER BY e.id) IS NULL THEN v_next END
    FROM @extschema@.executions e
    WHERE e.id = ANY (v_ids[1:p_limit - 1])
    ORDER BY e.id;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_list(text, text[], boolean, text, bigint)
IS 'Internal. harel_list() over all nodes: the page after an id, of one row less than p_limit.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_list(text, text[], boolean, text, bigint) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__stats_of_shard(
    p_id text,
    p_now double precision,
    p_leased bigint,
    p_outbox bigint,
    p_overdue bigint,
    OUT executions jsonb,
    OUT queued bigint,
    OUT available_at double precision,
    OUT leased bigint,
    OUT outbox bigint,
    OUT broadcasts bigint,
    OUT spawns bigint,
    OUT timers bigint,
    OUT overdue_timers bigint,
    OUT fire_at double precision,
    OUT dead_letters bigint,
    OUT processed_events bigint
) RETURNS record
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    v_executions text := @extschema@.harel__shard('executions', p_id);
    v_groups text := @extschema@.harel__shard('transport_groups', p_id);
    v_outbox text := @extschema@.harel__shard('outbox', p_id);
    v_timers text := @extschema@.harel__shard('timers', p_id);
    v_totals bigint[];
BEGIN
    EXECUTE format($sql$
        SELECT coalesce(jsonb_object_agg(s.status, @extschema@.harel__estimate(
            (SELECT count(*) FROM (SELECT FROM %1$s e WHERE e.status = s.status LIMIT 1000) e), %1$L, s.status
        )), '{}')
        FROM (SELECT * FROM unnest($1) LIMIT 100) AS s (status)
    $sql$, v_executions)
    INTO executions USING @extschema@.harel__statuses_of_shard(p_id, NULL);
    EXECUTE (
        SELECT 'SELECT ARRAY[' || string_agg(
            format(
                '@extschema@.harel__estimate((SELECT count(*) FROM (SELECT FROM %1$s LIMIT 1000) x), %1$L)',
                @extschema@.harel__shard(t.name, p_id)
            ),
            ', ' ORDER BY t.place
        ) || ']'
        FROM unnest(
            '{transport_messages,outbox,spawns,timers,dead_letters,processed_events}'::text[]
        ) WITH ORDINALITY AS t (name, place)
    )
    INTO v_totals;
    queued := v_totals[1];
    spawns := v_totals[3];
    timers := v_totals[4];
    dead_letters := v_totals[5];
    processed_events := v_totals[6];
    EXECUTE format($sql$
        SELECT
            (
                SELECT greatest(g.available_at, -1e15) FROM %1$s g
                WHERE g.available_at <= $1
                ORDER BY g.available_at
                LIMIT 1
            ),
            (
                SELECT count(*) FROM (
                    SELECT FROM %1$s g
                    WHERE g.available_at > $1 AND g.available_at < 'Infinity' AND g.token IS NOT NULL
                    LIMIT $2
                ) g
            ),
            (SELECT count(*) FROM (SELECT FROM %2$s o WHERE o.target_id IS NOT NULL LIMIT $3) o),
            (SELECT count(*) FROM (SELECT FROM %3$s t WHERE t.fire_at <= $1 LIMIT $4) t),
            (
                SELECT greatest(t.fire_at, -1e15) FROM %3$s t
                WHERE t.fire_at <= $1
                ORDER BY t.fire_at, t.execution_id, t.path
                LIMIT 1
            )
    $sql$, v_groups, v_outbox, v_timers)
    INTO available_at, leased, outbox, overdue_timers, fire_at USING p_now, p_leased, p_outbox, p_overdue;
    broadcasts := greatest(0, v_totals[2] - outbox);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__stats_of_shard(text, double precision, bigint, bigint, bigint)
IS 'Internal. harel_stats() of one shard, which counts leases, outbox and overdue timers up to so many.';
REVOKE ALL ON FUNCTION @extschema@.harel__stats_of_shard(text, double precision, bigint, bigint, bigint) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_stats(
    p_now double precision,
    OUT executions jsonb,
    OUT queued bigint,
    OUT oldest_wait double precision,
    OUT leased bigint,
    OUT outbox bigint,
    OUT broadcasts bigint,
    OUT spawns bigint,
    OUT timers bigint,
    OUT overdue_timers bigint,
    OUT oldest_overdue double precision,
    OUT dead_letters bigint,
    OUT processed_events bigint
) RETURNS record
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_shard text;
    v_row record;
    v_available_at double precision;
    v_fire_at double precision;
BEGIN
    executions := '{}';
    queued := 0;
    leased := 0;
    outbox := 0;
    broadcasts := 0;
    spawns := 0;
    timers := 0;
    overdue_timers := 0;
    dead_letters := 0;
    processed_events := 0;
    FOREACH v_shard IN ARRAY @extschema@.harel__shards() LOOP
        SELECT x.* INTO v_row
        FROM @extschema@.harel__stats_of_shard(
            v_shard, p_now, 10000 - leased, 10000 - outbox, 10000 - overdue_timers
        ) x;
        executions := executions || coalesce(
            (
                SELECT jsonb_object_agg(e.key, e.value::bigint + coalesce((executions -> e.key)::bigint, 0))
                FROM jsonb_each(v_row.executions) e
            ),
            '{}'
        );
        queued := queued + v_row.queued;
        v_available_at := least(v_available_at, v_row.available_at);
        leased := leased + v_row.leased;
        outbox := outbox + v_row.outbox;
        broadcasts := broadcasts + v_row.broadcasts;
        spawns := spawns + v_row.spawns;
        timers := timers + v_row.timers;
        overdue_timers := overdue_timers + v_row.overdue_timers;
        v_fire_at := least(v_fire_at, v_row.fire_at);
        dead_letters := dead_letters + v_row.dead_letters;
        processed_events := processed_events + v_row.processed_events;
    END LOOP;
    oldest_wait := p_now - v_available_at;
    oldest_overdue := p_now - v_fire_at;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_stats(double precision)
IS 'Internal. harel_stats() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_stats(double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__definitions_of_shard(
    p_id text, OUT definition_ids text[], OUT statuses text[], OUT counts bigint[]
) RETURNS record
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
    -- As harel_definitions() does.
    EXECUTE format($sql$
        WITH RECURSIVE found (definition_id, status) AS (
            (
                SELECT e.definition_id, e.status FROM %1$s e
                ORDER BY e.definition_id, e.status
                LIMIT 1
            )
            UNION ALL
            SELECT n.definition_id, n.status
            FROM found f
            CROSS JOIN LATERAL (
                SELECT e.definition_id, e.status FROM %1$s e
                WHERE (e.definition_id, e.status) > (f.definition_id, f.status)
                ORDER BY e.definition_id, e.status
                LIMIT 1
            ) AS n
        )
        SELECT array_agg(f.definition_id), array_agg(f.status), array_agg((
            SELECT count(*) FROM (
                SELECT FROM %1$s e
                WHERE (e.definition_id, e.status) >= (f.definition_id, f.status)
                    AND (e.definition_id, e.status) <= (f.definition_id, f.status)
                LIMIT 10000
            ) e
        ))
        FROM (SELECT * FROM found LIMIT 1000) f
    $sql$, @extschema@.harel__shard('executions', p_id))
    INTO definition_ids, statuses, counts;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__definitions_of_shard(text)
IS 'Internal. harel_definitions() of one shard.';
REVOKE ALL ON FUNCTION @extschema@.harel__definitions_of_shard(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_definitions()
RETURNS TABLE (definition_id text, status text, executions bigint)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_shard text;
    v_row record;
    v_definition_ids text[] := '{}';
    v_statuses text[] := '{}';
    v_counts bigint[] := '{}';
BEGIN
    FOREACH v_shard IN ARRAY @extschema@.harel__shards() LOOP
        SELECT x.* INTO v_row FROM @extschema@.harel__definitions_of_shard(v_shard) x;
        v_definition_ids := v_definition_ids || v_row.definition_ids;
        v_statuses := v_statuses || v_row.statuses;
        v_counts := v_counts || v_row.counts;
    END LOOP;
    RETURN QUERY
    SELECT d.definition_id, nullif(d.status, ''), least(sum(d.count), 10000)::bigint
    FROM unnest(v_definition_ids, v_statuses, v_counts) AS d (definition_id, status, count)
    GROUP BY d.definition_id, d.status
    ORDER BY d.definition_id COLLATE "C", d.status COLLATE "C"
    LIMIT 1000;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_definitions()
IS 'Internal. harel_definitions() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_definitions() FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_tree(p_id text, p_limit integer)
RETURNS TABLE (
    depth integer, id text, parent_id text, definition_id text, status text, outcome text, active_path text,
    version integer, created_at timestamptz, updated_at timestamptz, finished_at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_ids text[];
    v_parents text[] := ARRAY[NULL];
    v_level text[];
    v_above text[];
    v_child record;
    v_height integer := 1;
    v_depths integer[];
BEGIN
    SELECT ARRAY[e.id] INTO v_ids FROM @extschema@.executions e WHERE e.id = p_id;
    v_level := v_ids;
    -- In a circle, which whoever writes a parent may write, only the first is met again: nobody has two parents.
    WHILE v_level <> '{}' AND (p_limit IS NULL OR v_height < p_limit) LOOP
        v_above := v_level;
        v_level := '{}';
        FOR v_child IN
            SELECT e.id, e.parent_id
            FROM @extschema@.executions e
            JOIN unnest(v_above) WITH ORDINALITY AS a (id, place) ON a.id = e.parent_id
            WHERE octet_length(e.parent_id) <= 1000 AND e.id <> p_id
            ORDER BY a.place, e.id
            LIMIT p_limit
        LOOP
            v_level := v_level || v_child.id;
            v_ids := v_ids || v_child.id;
            v_parents := v_parents || v_child.parent_id;
        END LOOP;
        v_height := v_height + 1;
    END LOOP;
    WITH RECURSIVE tree (id, ids) AS (
        SELECT p_id COLLATE "C", ARRAY[p_id COLLATE "C"]
        UNION ALL
        SELECT c.id, t.ids || c.id
        FROM tree t
        JOIN unnest(v_ids, v_parents) AS c (id, parent_id) ON c.parent_id = t.id
    )
    SELECT array_agg(t.id ORDER BY t.ids), array_agg(cardinality(t.ids) - 1 ORDER BY t.ids)
    INTO v_ids, v_depths
    FROM (SELECT * FROM tree ORDER BY tree.ids LIMIT p_limit) t
    WHERE v_ids IS NOT NULL;
    RETURN QUERY
    SELECT
        t.depth, e.id, e.parent_id, e.definition_id, nullif(e.status, ''), e.outcome, e.active_path, e.version,
        e.created_at, e.updated_at, e.finished_at
    FROM @extschema@.executions e
    JOIN unnest(v_ids, v_depths) WITH ORDINALITY AS t (id, depth, place) ON t.id = e.id
    ORDER BY t.place;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_tree(text, integer)
IS 'Internal. harel_tree() over all nodes, level by level.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_tree(text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_queue(
    p_id text, p_state text, p_limit integer, p_now double precision
) RETURNS TABLE (
    group_id text, state text, seconds double precision, messages bigint, attempts integer, priority smallint,
    worker text, event text, published_at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_after double precision := CASE p_state WHEN 'delayed' THEN p_now WHEN 'held' THEN 1.7e308 ELSE '-Infinity' END;
    v_until double precision := CASE p_state WHEN 'waiting' THEN p_now WHEN 'delayed' THEN 1.7e308 ELSE 'Infinity' END;
    v_id text;
    v_ids text[] := '{}';
BEGIN
    IF p_id IS NOT NULL THEN
        v_ids := ARRAY[p_id];
    ELSIF p_state = 'leased' THEN
        FOR v_id IN
            SELECT g.group_id FROM @extschema@.transport_groups g
            WHERE g.available_at > p_now AND g.available_at < 'Infinity' AND g.token IS NOT NULL
            ORDER BY g.claimed_at, g.group_id
            LIMIT p_limit
        LOOP
            v_ids := v_ids || v_id;
        END LOOP;
    ELSE
        FOR v_id IN
            SELECT g.group_id FROM @extschema@.transport_groups g
            WHERE g.available_at > v_after AND g.available_at <= v_until
                AND (p_state IS DISTINCT FROM 'delayed' OR g.token IS NULL)
            ORDER BY g.available_at
            LIMIT p_limit
        LOOP
            v_ids := v_ids || v_id;
        END LOOP;
    END IF;
    RETURN QUERY
    SELECT
        q.group_id, q.state,
        CASE q.state
            WHEN 'waiting' THEN p_now - greatest(q.available_at, -1e15)
            WHEN 'leased' THEN p_now - extract(epoch FROM q.claimed_at)::double precision
            WHEN 'delayed' THEN q.available_at - p_now
        END,
        q.tail - q.head + 1, q.attempts, q.priority, CASE WHEN q.state = 'leased' THEN q.worker END, q.event,
        q.published_at
    FROM (
        SELECT
            g.group_id, g.available_at, g.head, g.tail, g.priority, g.attempts, g.worker, g.claimed_at, m.event,
            m.published_at,
            CASE
                WHEN g.available_at = 'Infinity' THEN 'held'
                WHEN g.available_at <= p_now THEN 'waiting'
                WHEN g.token IS NULL THEN 'delayed'
                ELSE 'leased'
            END AS state
        FROM @extschema@.transport_groups g
        JOIN @extschema@.transport_messages m ON m.group_id = g.group_id AND m.seq = g.head
        WHERE g.group_id = ANY (v_ids)
    ) q
    WHERE p_state IS NULL OR q.state = p_state
    ORDER BY array_position(v_ids, q.group_id)
    LIMIT p_limit;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_queue(text, text, integer, double precision)
IS 'Internal. harel_queue() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_queue(text, text, integer, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__activity_of_shard(
    p_id text,
    OUT commits bigint,
    OUT published bigint,
    OUT settled bigint,
    OUT processed_events bigint,
    OUT emitted bigint,
    OUT dead_letters bigint
) RETURNS record
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_executions regclass := @extschema@.harel__shard('executions', p_id);
    v_messages regclass := @extschema@.harel__shard('transport_messages', p_id);
BEGIN
    commits := pg_stat_get_tuples_inserted(v_executions) + pg_stat_get_tuples_updated(v_executions);
    published := pg_stat_get_tuples_inserted(v_messages);
    settled := pg_stat_get_tuples_deleted(v_messages);
    processed_events := pg_stat_get_tuples_inserted(@extschema@.harel__shard('processed_events', p_id)::regclass);
    emitted := pg_stat_get_tuples_inserted(@extschema@.harel__shard('outbox', p_id)::regclass);
    dead_letters := pg_stat_get_tuples_inserted(@extschema@.harel__shard('dead_letters', p_id)::regclass);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__activity_of_shard(text)
IS 'Internal. harel_activity() of one shard.';
REVOKE ALL ON FUNCTION @extschema@.harel__activity_of_shard(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_activity(
    OUT at timestamptz,
    OUT commits bigint,
    OUT published bigint,
    OUT settled bigint,
    OUT processed_events bigint,
    OUT emitted bigint,
    OUT dead_letters bigint
) RETURNS record
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_shard text;
    v_row record;
BEGIN
    at := clock_timestamp();
    FOREACH v_shard IN ARRAY @extschema@.harel__shards() LOOP
        SELECT x.* INTO v_row FROM @extschema@.harel__activity_of_shard(v_shard) x;
        commits := coalesce(commits, 0) + v_row.commits;
        published := coalesce(published, 0) + v_row.published;
        settled := coalesce(settled, 0) + v_row.settled;
        processed_events := coalesce(processed_events, 0) + v_row.processed_events;
        emitted := coalesce(emitted, 0) + v_row.emitted;
        dead_letters := coalesce(dead_letters, 0) + v_row.dead_letters;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_activity()
IS 'Internal. harel_activity() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_activity() FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__health_of_shard(p_id text)
RETURNS TABLE (problem text, detail text, remedy text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tables regclass[] := '{}';
    v_table text;
BEGIN
    FOREACH v_table IN ARRAY ARRAY[
        'executions', 'outbox', 'processed_events', 'timers', 'spawns', 'trace', 'transport_groups',
        'transport_messages', 'dead_letters'
    ] LOOP
        v_tables := v_tables || @extschema@.harel__shard(v_table, p_id)::regclass;
    END LOOP;
    RETURN QUERY
    SELECT
        'an index of a shard was left unfinished: what it serves reads the whole shard',
        format('%s.', i.indexrelid::regclass),
        format('On the node of the shard: REINDEX INDEX CONCURRENTLY %s;', i.indexrelid::regclass)
    FROM pg_index i
    WHERE i.indrelid = ANY (v_tables::oid[]) AND NOT i.indisvalid
    ORDER BY i.indexrelid::regclass::text COLLATE "C";
    RETURN QUERY SELECT * FROM @extschema@.harel__health_of_vacuum(v_tables);
END
$$;
COMMENT ON FUNCTION @extschema@.harel__health_of_shard(text)
IS 'Internal. harel__health_of_tables() of one shard.';
REVOKE ALL ON FUNCTION @extschema@.harel__health_of_shard(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__health_of_node(p_id text, p_now double precision)
RETURNS TABLE (problem text, detail text, remedy text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_node text;
BEGIN
    EXECUTE 'SELECT n.nodename || '':'' || n.nodeport FROM pg_dist_local_group l JOIN pg_dist_node n USING (groupid) LIMIT 1'
    INTO v_node;
    RETURN QUERY
    SELECT h.problem, format('Node %s: %s', v_node, h.detail), h.remedy
    FROM @extschema@.harel__health_of_server(p_now) h;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__health_of_node(text, double precision)
IS 'Internal. harel__health_of_server() of the node that an id belongs to.';
REVOKE ALL ON FUNCTION @extschema@.harel__health_of_node(text, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_health(p_now double precision)
RETURNS TABLE (problem text, detail text, remedy text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_shard text;
    v_shards text[] := @extschema@.harel__shards();
    v_others text[];
BEGIN
    -- The node that was asked has had its say.
    EXECUTE
        'SELECT array_agg(n.id) FROM ('
        'SELECT min(s.id) AS id FROM unnest($1) AS s (id) '
        'JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column($2, s.id) '
        'WHERE p.groupid <> (SELECT l.groupid FROM pg_dist_local_group l) '
        'GROUP BY p.groupid ORDER BY p.groupid'
        ') n'
    INTO v_others USING v_shards, '@extschema@.executions'::regclass;
    FOREACH v_shard IN ARRAY coalesce(v_others, '{}') LOOP
        RETURN QUERY SELECT x.* FROM @extschema@.harel__health_of_node(v_shard, p_now) x;
    END LOOP;
    FOREACH v_shard IN ARRAY v_shards LOOP
        RETURN QUERY SELECT x.* FROM @extschema@.harel__health_of_shard(v_shard) x;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_health(double precision)
IS 'Internal. harel_health(): what holds for the other nodes and for the shards.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_health(double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_stuck_leases(p_before timestamptz, p_now double precision)
RETURNS TABLE (group_id text, worker text, claimed_at timestamptz, attempts integer)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT g.group_id, g.worker, g.claimed_at, g.attempts
    FROM @extschema@.transport_groups g
    WHERE g.available_at > p_now AND g.available_at < 'Infinity' AND g.token IS NOT NULL AND g.claimed_at < p_before
    ORDER BY g.available_at
    LIMIT 10;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_stuck_leases(timestamptz, double precision)
IS 'Internal. harel__stuck_leases() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_stuck_leases(timestamptz, double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__sample_of_shard(p_id text, p_definition_id text, p_limit integer)
RETURNS TABLE (
    id text, status text, is_root boolean, active_path text, updated_at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
BEGIN
    RETURN QUERY EXECUTE format($sql$
        SELECT e.id, e.status, r.is_root, e.active_path, e.updated_at
        FROM unnest($1) AS s (status)
        CROSS JOIN (VALUES (true), (false)) AS r (is_root)
        CROSS JOIN LATERAL (
            SELECT e.id, e.status, e.active_path, e.updated_at
            FROM %s e
            WHERE e.definition_id = $2 AND e.status = s.status AND (e.parent_id IS NULL) = r.is_root
            ORDER BY e.id DESC
            LIMIT $3
        ) e
    $sql$, @extschema@.harel__shard('executions', p_id))
    USING @extschema@.harel__statuses_of_shard(p_id, p_definition_id), p_definition_id, p_limit::bigint + 1;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__sample_of_shard(text, text, integer)
IS 'Internal. The executions of one shard that harel__sample() could take.';
REVOKE ALL ON FUNCTION @extschema@.harel__sample_of_shard(text, text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_sample(p_definition_id text, p_limit integer)
RETURNS TABLE (
    id text, status text, is_root boolean, active_path text, updated_at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_shard text;
BEGIN
    FOREACH v_shard IN ARRAY @extschema@.harel__shards() LOOP
        RETURN QUERY SELECT x.* FROM @extschema@.harel__sample_of_shard(v_shard, p_definition_id, p_limit) x;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_sample(text, integer)
IS 'Internal. The executions of all nodes that harel__sample() could take, from each shard as many as it takes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_sample(text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__entries_of_shard(p_id text, p_ids text[])
RETURNS TABLE (
    execution_id text, idx integer, event text, source text, target text, at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
BEGIN
    RETURN QUERY EXECUTE format($sql$
        SELECT t.execution_id, t.idx, r.event, r.source, r.target, coalesce(r.at, t.recorded_at)
        FROM unnest($1) AS e (id)
        CROSS JOIN LATERAL (SELECT * FROM %s x WHERE x.execution_id = e.id OFFSET 0) t
        CROSS JOIN LATERAL @extschema@.harel__step(t.entry) r
    $sql$, @extschema@.harel__shard('trace', p_id))
    USING p_ids;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__entries_of_shard(text, text[])
IS 'Internal. harel__entries() of executions of one shard.';
REVOKE ALL ON FUNCTION @extschema@.harel__entries_of_shard(text, text[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__everywhere_entries(p_ids text[])
RETURNS TABLE (
    execution_id text, idx integer, event text, source text, target text, at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_ids text[];
BEGIN
    FOR v_ids IN EXECUTE
        'SELECT array_agg(i.id) FROM unnest($1) AS i (id) GROUP BY get_shard_id_for_distribution_column($2, i.id)'
        USING p_ids, '@extschema@.executions'::regclass
    LOOP
        RETURN QUERY SELECT x.* FROM @extschema@.harel__entries_of_shard(v_ids[1], v_ids) x;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__everywhere_entries(text[])
IS 'Internal. harel__entries() over all nodes.';
REVOKE ALL ON FUNCTION @extschema@.harel__everywhere_entries(text[]) FROM PUBLIC;
-- A node that joins a cluster, or whose functions an upgrade has made anew.
DO $$
DECLARE
    v_node integer;
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_extension e WHERE e.extname = 'citus') THEN
        EXECUTE 'SELECT l.groupid FROM pg_catalog.pg_dist_local_group l' INTO v_node;
        IF v_node <> 0 OR @extschema@.harel__is_distributed() THEN
            PERFORM @extschema@.harel__prepare_node();
        END IF;
    END IF;
END
$$;
-- pg_dump takes the rows of an extension's tables only where they are registered. As a plain script the store belongs
-- to no extension and is dumped as it is: then there is nothing to register. The registers of the queue start anew: a
-- floor that was advanced after the snapshot of the dump would hide what the dump holds.
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
            AND (c.relkind <> 'S' OR NOT pg_catalog.starts_with(c.relname, 'transport_'))
        ORDER BY d.objid
    LOOP
        PERFORM pg_catalog.pg_extension_config_dump(v_relation, '');
    END LOOP;
END
$$;
