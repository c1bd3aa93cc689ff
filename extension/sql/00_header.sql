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
