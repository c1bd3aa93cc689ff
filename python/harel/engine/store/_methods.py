# Generated from ../aio_store/_methods.py by `make generate`. Do not edit.
"""What both stores do, over a connection that each manages in its own way.

The asynchronous module is the source; `make generate` derives the synchronous one from it.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol
from uuid import uuid4

from ...spec.states import Event
from ..execution import Execution, ExecutionPage, Status
from ._base import (
    CommitOutcomeUnknown,
    OutboxEntry,
    Problem,
    SpawnEntry,
    Stats,
    StoreConflict,
    StoreError,
    TimerOp,
    TraceEntry,
    is_loss_of_node,
    is_serialization_failure,
)
from ._calls import Call, Calls, Emit, Outcome, Spawn
from ._install import VERSION
from ._session import AnswerLost, Session, by_another, run_on, transaction_on, with_spans


class ExecutionStore(Protocol):
    """What a worker needs of a store; PostgresStore describes each method."""

    trace_max: int

    def load(self, execution_id: str) -> Execution | None: ...
    def load_for_event(self, execution_id: str, event_id: str) -> tuple[Execution | None, bool]: ...
    def save(self, exe: Execution) -> None: ...
    def commit(
        self,
        exe: Execution,
        emits: Iterable[tuple[str | None, Event]],
        processed_event_id: str | None = None,
        timers: Iterable[TimerOp] = (),
        spawns: Iterable[tuple[str, str, dict[str, Any]]] = (),
        trace: TraceEntry | None = None,
        step: Any = None,
    ) -> list[int]: ...
    def is_processed(self, execution_id: str, event_id: str) -> bool: ...
    def list_executions(
        self,
        *,
        status: Status | str | Iterable[Status | str] | None = None,
        definition_id: str | None = None,
        roots_only: bool = False,
        limit: int = 100,
        cursor: str | None = None,
    ) -> ExecutionPage: ...
    def pending_outbox(self, limit: int | None = None) -> list[OutboxEntry]: ...
    def ack_outbox(self, seq: int) -> bool: ...
    def pending_spawns(self, limit: int | None = None) -> list[SpawnEntry]: ...
    def ack_spawn(self, seq: int) -> bool: ...
    def due_timers(self, now: float, limit: int | None = None) -> list[tuple[str, str, float]]: ...
    def delete_timer(self, execution_id: str, path: str, fire_at: float) -> bool: ...
    def append_trace(self, execution_id: str, entry: TraceEntry) -> int: ...
    def read_trace(self, execution_id: str) -> list[dict[str, Any]]: ...
    def purge(self, execution_id: str, expected_version: int) -> bool: ...
    def ids_with_prefix(self, prefix: str) -> list[str]: ...
    def close(self) -> None: ...


@with_spans
class StoreMethods(Session[Calls]):
    """The methods of a store, each one round trip.

    Every method raises InvalidArgument (code of class ST) for a call that no store can carry out, and lets the errors
    of the database driver through. Whatever is raised, the store stays usable and an execution keeps its version.
    """

    trace_max: int
    _calls_type = Calls

    def load(self, execution_id: str) -> Execution | None:
        """The execution as it was last committed, or None where there is none."""
        calls = self._ready()
        return self._run(calls.load(execution_id))

    def load_for_event(self, execution_id: str, event_id: str) -> tuple[Execution | None, bool]:
        """The execution, and whether it has handled the event already; `(None, False)` where there is none."""
        calls = self._ready()
        return self._run(calls.load_for_event(execution_id, event_id))

    @by_another
    def save(self, exe: Execution) -> None:
        """`commit(exe, [])`: only the state."""
        self.commit(exe, [])

    def commit(
        self,
        exe: Execution,
        emits: Iterable[Emit],
        processed_event_id: str | None = None,
        timers: Iterable[TimerOp] = (),
        spawns: Iterable[Spawn] = (),
        trace: TraceEntry | None = None,
        step: Any = None,
    ) -> list[int]:
        """Commits the next state of an execution with all that the step caused, or nothing.

        emits: `(target_id, event)` in the order to be sent; target None is a broadcast.
        processed_event_id: the event that this step handled.
        timers: operations, in order; times in seconds since the epoch.
        spawns: `(child_id, root_path, context)` of the child executions to create.
        trace: an entry for the execution's trace, of which the last `trace_max` are kept.
        step: what an engine may tell a store of the step; not used.

        Returns the outbox seqs of `emits` in their order, and sets `exe.version` to the version committed. Raises
        StoreConflict where another commit came first: load the execution again and decide anew.

        Where the connection is lost before the answer comes, a store with connections of its own, or of a pool, finds
        the outcome out on another one, for as long as it would wait for one: it commits again, which cannot succeed
        twice, and then asks which commit it was. The seqs are then those of the events that have not been sent
        meanwhile. Raises CommitOutcomeUnknown only where the outcome cannot be known: where no connection can be had,
        or the store has no other; and, without a processed_event_id, where others have gone on from the version in
        question. In the caller's own transaction the driver's error comes through: its end decides.
        """
        calls = self._ready()
        commit_id = uuid4().hex
        call = calls.commit(exe, emits, processed_event_id, timers, spawns, trace, self.trace_max, commit_id)
        expected = exe.version
        try:
            outcome = self._attempt(call)
        except AnswerLost as lost:
            outcome = self._found_out(call, calls.outcome(exe.id, expected, commit_id, processed_event_id))
            if outcome.committed is None:
                raise CommitOutcomeUnknown(exe.id, expected) from lost.error
        except Exception as error:
            if is_serialization_failure(error):
                raise StoreConflict(exe.id, expected, None) from error
            raise
        if not outcome.committed:
            found = outcome.found if outcome.found_known else self._run(calls.stored_version(exe.id))
            # Within a transaction of a stricter level the old version is still what can be seen.
            raise StoreConflict(exe.id, expected, None if found == expected else found)
        exe.version = expected + 1
        return outcome.seqs

    def _found_out(self, commit: Call[Outcome], ask: Call[Outcome]) -> Outcome:
        """The outcome of a commit whose answer was lost: `committed` is None where it cannot be known."""
        for _ in range(self._attempts_again):
            try:
                connection = self._take()
            except Exception:
                break
            try:
                # It waits for the first one, if that is still under way, and of the two only one can succeed.
                outcome = run_on(connection, commit)
                return outcome if outcome.committed else run_on(connection, ask)
            except StoreError:
                # What can never be has not been.
                raise
            except Exception as error:
                behind = is_loss_of_node(error.error if isinstance(error, AnswerLost) else error)
            finally:
                self._give(connection)
            if behind:
                # A connection can be had at once, and a node behind it is awaited.
                self._rest(self._retry_delay)
        return Outcome(None, [])

    def is_processed(self, execution_id: str, event_id: str) -> bool:
        """Whether the execution has handled the event."""
        calls = self._ready()
        return self._run(calls.is_processed(execution_id, event_id))

    def list_executions(
        self,
        *,
        status: Status | str | Iterable[Status | str] | None = None,
        definition_id: str | None = None,
        roots_only: bool = False,
        limit: int = 100,
        cursor: str | None = None,
    ) -> ExecutionPage:
        """A page of executions in the order of their ids (as bytes), at most `limit`.

        status: any of these. roots_only: without the children of others. cursor: `next_cursor` of the page before.
        Pages neither repeat nor skip an execution while others come and go.
        """
        calls = self._ready()
        return self._run(calls.list_executions(status, definition_id, roots_only, limit, cursor))

    def pending_outbox(self, limit: int | None = None) -> list[OutboxEntry]:
        """The events waiting to be sent, oldest first, at most `limit` (None: all)."""
        calls = self._ready()
        return self._run(calls.pending_outbox(limit))

    def ack_outbox(self, seq: int) -> bool:
        """Removes an event that has been sent; False where it was not pending."""
        calls = self._ready()
        return self._run(calls.ack_outbox(seq))

    def deliver_outbox(self, handler: Callable[[list[OutboxEntry]], Any], limit: int | None = 100) -> int:
        """Hands the oldest events, at most `limit`, to a handler that sends them elsewhere, and removes them after it.

        They stay locked meanwhile, so that no two deliveries have the same one. Where the handler raises or the process
        dies, they all stay: each is sent at least once. Returns how many were delivered.
        """
        calls = self._ready()
        connection = self._take()
        try:
            with transaction_on(connection) as run:
                entries = run(calls.take_outbox(limit))
                if entries:
                    handler(entries)
                    run(calls.settle_outbox([entry.seq for entry in entries]))
                return len(entries)
        finally:
            self._give(connection)

    def pending_spawns(self, limit: int | None = None) -> list[SpawnEntry]:
        """The child executions waiting to be created, oldest first, at most `limit` (None: all)."""
        calls = self._ready()
        return self._run(calls.pending_spawns(limit))

    def ack_spawn(self, seq: int) -> bool:
        """Removes the request for a child that has been created; False where it was not pending."""
        calls = self._ready()
        return self._run(calls.ack_spawn(seq))

    def due_timers(self, now: float, limit: int | None = None) -> list[tuple[str, str, float]]:
        """`(execution_id, path, fire_at)` of the timers due at `now` (seconds since the epoch), oldest due first."""
        calls = self._ready()
        return self._run(calls.due_timers(now, limit))

    def delete_timer(self, execution_id: str, path: str, fire_at: float) -> bool:
        """Disarms a timer that has been handled; False, and nothing done, where it is no longer due at `fire_at`."""
        calls = self._ready()
        return self._run(calls.delete_timer(execution_id, path, fire_at))

    def append_trace(self, execution_id: str, entry: TraceEntry) -> int:
        """Appends to the trace outside a commit; returns the entry's index. The last `trace_max` entries are kept."""
        calls = self._ready()
        return self._run(calls.append_trace(execution_id, entry, self.trace_max))

    def read_trace(self, execution_id: str) -> list[dict[str, Any]]:
        """The trace, oldest entry first, each with the `index` that it was given; indexes are never reused."""
        calls = self._ready()
        return self._run(calls.read_trace(execution_id))

    def purge(self, execution_id: str, expected_version: int) -> bool:
        """Removes an execution and everything of it, unless its version has moved on.

        Where there is none, what is left of it is removed all the same. Returns whether an execution was removed.
        """
        calls = self._ready()
        return self._run(calls.purge(execution_id, expected_version))

    def purge_finished(self, older_than: float, limit: int | None = 1000, archive: str | None = None) -> int:
        """Removes up to `limit` executions (None: all) that finished more than `older_than` seconds ago, oldest first.

        Everything of theirs goes with them, but one for which something still waits is left for another call. archive:
        the function in the database that is called with the id and the data (both text) of each before it goes, such
        as "archive.keep(text,text)"; names in it need their schemas too. Where it raises, all stay. Returns how many
        were removed.
        """
        calls = self._ready()
        return self._run(calls.purge_finished(older_than, limit, archive))

    def purge_processed(self, older_than: float, limit: int | None = 10000) -> int:
        """Forgets up to `limit` events (None: all) that were handled more than `older_than` seconds ago.

        One that is delivered once more would be handled again. Returns how many were forgotten.
        """
        calls = self._ready()
        return self._run(calls.purge_processed(older_than, limit))

    def stats(self) -> Stats:
        """How much there is of everything; in milliseconds, however large the store is."""
        calls = self._ready()
        return self._run(calls.stats())

    def health(self) -> list[Problem]:
        """What is wrong with the store, its server, or this client's version and clock; nothing where all is well."""
        calls = self._ready()
        return self._run(calls.health(VERSION, time.time()))

    def ids_with_prefix(self, prefix: str) -> list[str]:
        """The ids of the executions that begin with these very characters, in the order of their bytes."""
        calls = self._ready()
        return self._run(calls.ids_with_prefix(prefix))

    def suspend(self, execution_id: str) -> bool:
        """Suspends an execution and its children: their messages stay in the queue. False where nothing could be."""
        calls = self._ready()
        return self._run(calls.control("suspend", execution_id))

    def resume(self, execution_id: str) -> bool:
        """Resumes a suspended execution and its children. False where nothing was suspended."""
        calls = self._ready()
        return self._run(calls.control("resume", execution_id))

    def cancel(self, execution_id: str) -> bool:
        """Cancels an execution and its children: their messages become dead letters. False where all was final."""
        calls = self._ready()
        return self._run(calls.control("cancel", execution_id))

    def suspend_all(
        self,
        *,
        status: Status | str | Iterable[Status | str] | None = None,
        definition_id: str | None = None,
        roots_only: bool = False,
        dry_run: bool = False,
    ) -> int:
        """Suspends all that match, as list_executions() would; returns how many match and can be suspended.

        With dry_run nothing is changed. Their children are suspended with them and not counted.
        """
        calls = self._ready()
        return self._run(calls.control_all("suspend", status, definition_id, roots_only, dry_run))

    def resume_all(
        self,
        *,
        status: Status | str | Iterable[Status | str] | None = None,
        definition_id: str | None = None,
        roots_only: bool = False,
        dry_run: bool = False,
    ) -> int:
        """Resumes all that match: see suspend_all()."""
        calls = self._ready()
        return self._run(calls.control_all("resume", status, definition_id, roots_only, dry_run))

    def cancel_all(
        self,
        *,
        status: Status | str | Iterable[Status | str] | None = None,
        definition_id: str | None = None,
        roots_only: bool = False,
        dry_run: bool = False,
    ) -> int:
        """Cancels all that match: see suspend_all()."""
        calls = self._ready()
        return self._run(calls.control_all("cancel", status, definition_id, roots_only, dry_run))
