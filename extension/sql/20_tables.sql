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
