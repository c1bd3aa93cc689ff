-- Besides the primary keys. Each names the function that it serves.
--
-- The order of the first two is that of harel_list(): equality on what is filtered, then the id that pages go by.
-- Whether an execution is a root stands before the id, or a page of roots would have to step over every child.
-- None holds an expression over data, and version and updated_at are in none: a commit that keeps status,
-- definition and parent changes no index entry.

-- serves harel_list() with a definition
CREATE INDEX executions_by_definition ON @extschema@.executions
(definition_id, status, (parent_id IS NULL), id);

-- serves harel_list() with statuses or roots only, over all definitions
CREATE INDEX executions_by_status ON @extschema@.executions
(status, (parent_id IS NULL), id);

-- serves harel_due_timers(): earliest due first, ties in the order of their keys
CREATE INDEX timers_by_fire_at ON @extschema@.timers
(fire_at, execution_id, path);
