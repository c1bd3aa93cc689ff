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
