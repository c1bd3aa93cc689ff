\echo Use "ALTER EXTENSION harel UPDATE TO '1.1'" to load this file. \quit

-- From 1.0 to 1.1. Each function is replaced by that of 1.1, which keeps its grants; nothing here rewrites a table.
-- Every statement can be run again.

SET LOCAL search_path = pg_catalog, pg_temp;

-- On a large store these two take a while, in which nobody commits: made by hand before, with CREATE INDEX CONCURRENTLY
-- and under these names, they are taken as they are.
CREATE INDEX IF NOT EXISTS executions_by_finish ON @extschema@.executions
(finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS processed_events_by_time ON @extschema@.processed_events
(processed_at);

ALTER TABLE @extschema@.executions ADD COLUMN IF NOT EXISTS commit_id uuid;
COMMENT ON COLUMN @extschema@.executions.commit_id
IS 'What the last commit called itself, for harel_outcome(); NULL where it had no name.';

-- The entries that there are have no time, as nobody knows it.
ALTER TABLE @extschema@.trace ADD COLUMN IF NOT EXISTS recorded_at timestamptz;
COMMENT ON COLUMN @extschema@.trace.recorded_at
IS 'When the transaction that wrote the entry began; NULL where that was before version 1.1, or in another program.';

-- What there is was written before all that has a version.
ALTER TABLE @extschema@.outbox
ADD COLUMN IF NOT EXISTS version integer NOT NULL DEFAULT 0,
ADD COLUMN IF NOT EXISTS ord integer NOT NULL DEFAULT 0;
COMMENT ON COLUMN @extschema@.outbox.version
IS
'The version that the source came to by the commit that emitted the event, and with ord the order of the events of one '
'source; 0 where it was written before version 1.1, or in another program.';
COMMENT ON COLUMN @extschema@.outbox.ord
IS 'The place of the event among those of its commit, from 1.';
ALTER TABLE @extschema@.spawns
ADD COLUMN IF NOT EXISTS version integer NOT NULL DEFAULT 0,
ADD COLUMN IF NOT EXISTS ord integer NOT NULL DEFAULT 0;
COMMENT ON COLUMN @extschema@.spawns.version
IS
'The version that the parent came to by the commit that asked for the child; 0 where it was written before version '
'1.1, or in another program.';
COMMENT ON COLUMN @extschema@.spawns.ord
IS 'The place of the child among those that its commit asked for, from 1.';
ALTER TABLE @extschema@.outbox ADD COLUMN IF NOT EXISTS shard text COLLATE "C";
COMMENT ON COLUMN @extschema@.outbox.shard
IS 'The other shard that the target belongs to; NULL where it belongs here.';
ALTER TABLE @extschema@.spawns ADD COLUMN IF NOT EXISTS shard text COLLATE "C";
COMMENT ON COLUMN @extschema@.spawns.shard
IS 'The other shard that the child belongs to; NULL where it belongs here.';
CREATE TABLE IF NOT EXISTS @extschema@.shards (
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

CREATE SEQUENCE IF NOT EXISTS @extschema@.shards_joined;
COMMENT ON SEQUENCE @extschema@.shards_joined
IS 'Has a value once there is a map of the shards.';

CREATE TABLE IF NOT EXISTS @extschema@.shard_receipts (
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
DROP INDEX IF EXISTS @extschema@.outbox_targeted;
CREATE INDEX outbox_targeted ON @extschema@.outbox
(shard, seq) WHERE octet_length(target_id) >= 0;
CREATE INDEX IF NOT EXISTS spawns_by_shard ON @extschema@.spawns
(shard, seq) WHERE shard IS NOT NULL;
CREATE INDEX IF NOT EXISTS shard_receipts_by_time ON @extschema@.shard_receipts
(received_at);

-- These have other arguments now. Beside the new ones the old ones would make a call ambiguous.
DROP FUNCTION IF EXISTS @extschema@.harel__set_member(text, text, text, text);
DROP FUNCTION IF EXISTS @extschema@.harel__control(text[], text);
DROP FUNCTION IF EXISTS @extschema@.harel__swap(text, text, text, bigint, text);
DROP FUNCTION IF EXISTS @extschema@.harel_commit_cas(text, text, text, bigint, text);
DROP FUNCTION IF EXISTS @extschema@.harel__commit(
    text, text, text, bigint, text, text[], text[], text[], text[],
    text[], text[], text[], double precision[], text, integer
);
DROP FUNCTION IF EXISTS @extschema@.harel_commit(
    text, text, text, bigint, text, text[], text[], text[], text[],
    text[], text[], text[], double precision[], text, integer
);

