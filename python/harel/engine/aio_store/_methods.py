"""What both stores do, over a connection that each manages in its own way.

The asynchronous module is the source; `make generate` derives the synchronous one from it.
"""

import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol
from uuid import uuid4

from ...spec.states import Event
from ..execution import Execution, ExecutionPage, Status
from ..store._base import (
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
from ..store._calls import Call, Calls, Emit, Outcome, Spawn
from ..store._install import VERSION
from ._session import AnswerLost, AsyncSession, by_another, run_on, transaction_on, with_spans


class AsyncExecutionStore(Protocol):
    """What a worker needs of a store; AsyncPostgresStore describes each method."""

    trace_max: int

    async def load(self, execution_id: str) -> Execution | None: ...
    async def load_for_event(self, execution_id: str, event_id: str) -> tuple[Execution | None, bool]: ...
    async def save(self, exe: Execution) -> None: ...
    async def commit(
        self,
        exe: Execution,
        emits: Iterable[tuple[str | None, Event]],
        processed_event_id: str | None = None,
        timers: Iterable[TimerOp] = (),
        spawns: Iterable[tuple[str, str, dict[str, Any]]] = (),
        trace: TraceEntry | None = None,
        step: Any = None,
    ) -> list[int]: ...
    async def is_processed(self, execution_id: str, event_id: str) -> bool: ...
    async def list_executions(
        self,
        *,
        status: Status | str | Iterable[Status | str] | None = None,
        definition_id: str | None = None,
        roots_only: bool = False,
        limit: int = 100,
        cursor: str | None = None,
    ) -> ExecutionPage: ...
    async def pending_outbox(self, limit: int | None = None) -> list[OutboxEntry]: ...
    async def ack_outbox(self, seq: int) -> bool: ...
    async def pending_spawns(self, limit: int | None = None) -> list[SpawnEntry]: ...
    async def ack_spawn(self, seq: int) -> bool: ...
    async def due_timers(self, now: float, limit: int | None = None) -> list[tuple[str, str, float]]: ...
    async def delete_timer(self, execution_id: str, path: str, fire_at: float) -> bool: ...
    async def append_trace(self, execution_id: str, entry: TraceEntry) -> int: ...
    async def read_trace(self, execution_id: str) -> list[dict[str, Any]]: ...
    async def purge(self, execution_id: str, expected_version: int) -> bool: ...
    async def ids_with_prefix(self, prefix: str) -> list[str]: ...
    async def close(self) -> None: ...


@with_spans
class AsyncStoreMethods(AsyncSession[Calls]):
    """The methods of a store, each one round trip.

    Every method raises InvalidArgument (code of class ST) for a call that no store can carry out, and lets the errors
    of the database driver through. Whatever is raised, the store stays usable and an execution keeps its version.
    """

    trace_max: int
    _calls_type = Calls

    async def load(self, execution_id: str) -> Execution | None:
        """The execution as it was last committed, or None where there is none."""
        calls = await self._ready()
        return await self._run(calls.load(execution_id))

    async def load_for_event(self, execution_id: str, event_id: str) -> tuple[Execution | None, bool]:
        """The execution, and whether it has handled the event already; `(None, False)` where there is none."""
        calls = await self._ready()
        return await self._run(calls.load_for_event(execution_id, event_id))

    @by_another
    async def save(self, exe: Execution) -> None:
        """`commit(exe, [])`: only the state."""
        await self.commit(exe, [])

    async def commit(
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
        calls = await self._ready()
        commit_id = uuid4().hex
        call = calls.commit(exe, emits, processed_event_id, timers, spawns, trace, self.trace_max, commit_id)
        expected = exe.version
        try:
            outcome = await self._attempt(call)
        except AnswerLost as lost:
            outcome = await self._found_out(call, calls.outcome(exe.id, expected, commit_id, processed_event_id))
            if outcome.committed is None:
                raise CommitOutcomeUnknown(exe.id, expected) from lost.error
        except Exception as error:
            if is_serialization_failure(error):
                raise StoreConflict(exe.id, expected, None) from error
            raise
        if not outcome.committed:
            found = outcome.found if outcome.found_known else await self._run(calls.stored_version(exe.id))
            # Within a transaction of a stricter level the old version is still what can be seen.
            raise StoreConflict(exe.id, expected, None if found == expected else found)
        exe.version = expected + 1
        return outcome.seqs

    async def _found_out(self, commit: Call[Outcome], ask: Call[Outcome]) -> Outcome:
        """The outcome of a commit whose answer was lost: `committed` is None where it cannot be known."""
        for _ in range(self._attempts_again):
            try:
                connection = await self._take()
            except Exception:
                break
            try:
                # It waits for the first one, if that is still under way, and of the two only one can succeed.
                outcome = await run_on(connection, commit)
                return outcome if outcome.committed else await run_on(connection, ask)
            except StoreError:
                # What can never be has not been.
                raise
            except Exception as error:
                behind = is_loss_of_node(error.error if isinstance(error, AnswerLost) else error)
            finally:
                await self._give(connection)
            if behind:
                # A connection can be had at once, and a node behind it is awaited.
                await self._rest(self._retry_delay)
        return Outcome(None, [])

    async def is_processed(self, execution_id: str, event_id: str) -> bool:
        """Whether the execution has handled the event."""
        calls = await self._ready()
        return await self._run(calls.is_processed(execution_id, event_id))

    async def list_executions(
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
        calls = await self._ready()
        return await self._run(calls.list_executions(status, definition_id, roots_only, limit, cursor))

    async def pending_outbox(self, limit: int | None = None) -> list[OutboxEntry]:
        """The events waiting to be sent, oldest first, at most `limit` (None: all)."""
        calls = await self._ready()
        return await self._run(calls.pending_outbox(limit))

    async def ack_outbox(self, seq: int) -> bool:
        """Removes an event that has been sent; False where it was not pending."""
        calls = await self._ready()
        return await self._run(calls.ack_outbox(seq))

    async def deliver_outbox(
        self, handler: Callable[[list[OutboxEntry]], Awaitable[Any]], limit: int | None = 100
    ) -> int:
        """Hands the oldest events, at most `limit`, to a handler that sends them elsewhere, and removes them after it.

        They stay locked meanwhile, so that no two deliveries have the same one. Where the handler raises or the process
        dies, they all stay: each is sent at least once. Returns how many were delivered.
        """
        calls = await self._ready()
        connection = await self._take()
        try:
            async with transaction_on(connection) as run:
                entries = await run(calls.take_outbox(limit))
                if entries:
                    await handler(entries)
                    await run(calls.settle_outbox([entry.seq for entry in entries]))
                return len(entries)
        finally:
            await self._give(connection)

    async def pending_spawns(self, limit: int | None = None) -> list[SpawnEntry]:
        """The child executions waiting to be created, oldest first, at most `limit` (None: all)."""
        calls = await self._ready()
        return await self._run(calls.pending_spawns(limit))

    async def ack_spawn(self, seq: int) -> bool:
        """Removes the request for a child that has been created; False where it was not pending."""
        calls = await self._ready()
        return await self._run(calls.ack_spawn(seq))

    async def due_timers(self, now: float, limit: int | None = None) -> list[tuple[str, str, float]]:
        """`(execution_id, path, fire_at)` of the timers due at `now` (seconds since the epoch), oldest due first."""
        calls = await self._ready()
        return await self._run(calls.due_timers(now, limit))

    async def delete_timer(self, execution_id: str, path: str, fire_at: float) -> bool:
        """Disarms a timer that has been handled; False, and nothing done, where it is no longer due at `fire_at`."""
        calls = await self._ready()
        return await self._run(calls.delete_timer(execution_id, path, fire_at))

    async def append_trace(self, execution_id: str, entry: TraceEntry) -> int:
        """Appends to the trace outside a commit; returns the entry's index. The last `trace_max` entries are kept."""
        calls = await self._ready()
        return await self._run(calls.append_trace(execution_id, entry, self.trace_max))

    async def read_trace(self, execution_id: str) -> list[dict[str, Any]]:
        """The trace, oldest entry first, each with the `index` that it was given; indexes are never reused."""
        calls = await self._ready()
        return await self._run(calls.read_trace(execution_id))

    async def purge(self, execution_id: str, expected_version: int) -> bool:
        """Removes an execution and everything of it, unless its version has moved on.

        Where there is none, what is left of it is removed all the same. Returns whether an execution was removed.
        """
        calls = await self._ready()
        return await self._run(calls.purge(execution_id, expected_version))

    async def purge_finished(self, older_than: float, limit: int | None = 1000, archive: str | None = None) -> int:
        """Removes up to `limit` executions (None: all) that finished more than `older_than` seconds ago, oldest first.

        Everything of theirs goes with them, but one for which something still waits is left for another call. archive:
        the function in the database that is called with the id and the data (both text) of each before it goes, such
        as "archive.keep(text,text)"; names in it need their schemas too. Where it raises, all stay. Returns how many
        were removed.
        """
        calls = await self._ready()
        return await self._run(calls.purge_finished(older_than, limit, archive))

    async def purge_processed(self, older_than: float, limit: int | None = 10000) -> int:
        """Forgets up to `limit` events (None: all) that were handled more than `older_than` seconds ago.

        One that is delivered once more would be handled again. Returns how many were forgotten.
        """
        calls = await self._ready()
        return await self._run(calls.purge_processed(older_than, limit))

    async def stats(self) -> Stats:
        """How much there is of everything; in milliseconds, however large the store is."""
        calls = await self._ready()
        return await self._run(calls.stats())

    async def health(self) -> list[Problem]:
        """What is wrong with the store, its server, or this client's version and clock; nothing where all is well."""
        calls = await self._ready()
        return await self._run(calls.health(VERSION, time.time()))

    async def ids_with_prefix(self, prefix: str) -> list[str]:
        """The ids of the executions that begin with these very characters, in the order of their bytes."""
        calls = await self._ready()
        return await self._run(calls.ids_with_prefix(prefix))

    async def suspend(self, execution_id: str) -> bool:
        """Suspends an execution and its children: their messages stay in the queue. False where nothing could be."""
        calls = await self._ready()
        return await self._run(calls.control("suspend", execution_id))

    async def resume(self, execution_id: str) -> bool:
        """Resumes a suspended execution and its children. False where nothing was suspended."""
        calls = await self._ready()
        return await self._run(calls.control("resume", execution_id))

    async def cancel(self, execution_id: str) -> bool:
        """Cancels an execution and its children: their messages become dead letters. False where all was final."""
        calls = await self._ready()
        return await self._run(calls.control("cancel", execution_id))

    async def suspend_all(
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
        calls = await self._ready()
        return await self._run(calls.control_all("suspend", status, definition_id, roots_only, dry_run))

    async def resume_all(
        self,
        *,
        status: Status | str | Iterable[Status | str] | None = None,
        definition_id: str | None = None,
        roots_only: bool = False,
        dry_run: bool = False,
    ) -> int:
        """Resumes all that match: see suspend_all()."""
        calls = await self._ready()
        return await self._run(calls.control_all("resume", status, definition_id, roots_only, dry_run))

    async def cancel_all(
        self,
        *,
        status: Status | str | Iterable[Status | str] | None = None,
        definition_id: str | None = None,
        roots_only: bool = False,
        dry_run: bool = False,
    ) -> int:
        """Cancels all that match: see suspend_all()."""
        calls = await self._ready()
        return await self._run(calls.control_all("cancel", status, definition_id, roots_only, dry_run))
