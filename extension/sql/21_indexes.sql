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
