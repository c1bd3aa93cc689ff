"""What both queues do, over a connection that each manages in its own way.

The asynchronous module is the source; `make generate` derives the synchronous one from it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from ...spec.states import Event
from ..aio_store._session import AsyncSession, by_another, with_spans
from ..transport._base import Completed, Completion, DeadLetter, Delivery, Lease, Tick
from ..transport._calls import TransportCalls


class AsyncTransport(Protocol):
    """What a worker needs of a queue; AsyncPostgresTransport describes each method."""

    async def publish(self, group_id: str, event: Event, priority: int = 0) -> Any: ...
    async def claim(self, worker_id: str, visibility: float, min_priority: int = 0) -> Lease | None: ...
    async def ack(self, lease: Lease) -> Any: ...
    async def nack(self, lease: Lease, delay: float = 0.0) -> Any: ...
    async def close(self) -> None: ...


@with_spans
class AsyncTransportMethods(AsyncSession[TransportCalls]):
    """The methods of a queue, each one round trip.

    A message belongs to a group, the id of the execution that it is for. Within a group messages come first in, first
    out, and at most one is leased at a time; groups proceed in parallel. All durations are seconds. Every method raises
    InvalidArgument (code of class ST) for a call that no queue can carry out, and lets the errors of the database
    driver through.
    """

    _calls_type = TransportCalls
    clock: Callable[[], float] | None
    max_attempts: int | None
    trace_max: int

    async def publish(self, group_id: str, event: Event, priority: int = 0) -> int:
        """Puts a message at the end of its group; returns its number there.

        priority: 0 to 4; it counts for the first message of a group, and until the group is drained.
        """
        calls = await self._ready()
        return await self._run(calls.publish(group_id, event, priority, self._now()))

    async def publish_many(self, messages: Iterable[Sequence[Any]]) -> int:
        """Publishes many: `(group_id, event)` or `(group_id, event, priority)` each; all or none. Returns how many."""
        calls = await self._ready()
        return await self._run(calls.publish_many(messages, self._now()))

    async def send(self, execution_id: str, event: Event) -> int | None:
        """publish() at the priority of the execution; None, and nothing published, where there is none."""
        calls = await self._ready()
        return await self._run(calls.send(execution_id, event, self._now()))

    @by_another
    async def claim(self, worker_id: str, visibility: float, min_priority: int = 0) -> Lease | None:
        """Leases the first message of the group that has been available for longest, for `visibility` seconds.

        None where no group of priority `min_priority` or more has one.
        """
        leases = await self.claim_many(worker_id, visibility, 1, min_priority)
        return leases[0] if leases else None

    async def claim_many(self, worker_id: str, visibility: float, limit: int, min_priority: int = 0) -> list[Lease]:
        """Leases the first messages of up to `limit` groups, longest available first: see claim()."""
        calls = await self._ready()
        return await self._run(calls.claim(worker_id, visibility, limit, min_priority, self.max_attempts, self._now()))

    async def ack(self, lease: Lease) -> bool:
        """Removes a message that has been handled. False: the lease is over, and nothing was done."""
        calls = await self._ready()
        return await self._run(calls.ack(lease, self._now()))

    async def nack(self, lease: Lease, delay: float = 0.0, reason: str | None = None) -> bool:
        """Gives back a message, to be claimed again after `delay` seconds; until then its group waits.

        One delivered `max_attempts` times becomes a dead letter, for `reason`. False: the lease is over, and nothing
        was done.
        """
        calls = await self._ready()
        return await self._run(calls.nack(lease, delay, reason, self.max_attempts, self._now()))

    async def extend(self, leases: Sequence[Lease], visibility: float) -> dict[str, float]:
        """Moves the deadlines of leases to `visibility` seconds from now, if that is later.

        Returns the new deadlines of those that still hold, by group.
        """
        calls = await self._ready()
        return await self._run(calls.extend(leases, visibility, self._now()))

    async def next(
        self,
        worker_id: str,
        visibility: float,
        limit: int = 1,
        min_priority: int = 0,
        sleep: float | None = None,
    ) -> list[Delivery]:
        """Claims and loads in one: up to `limit` messages of as many groups, each with its execution.

        Up to half of them go by priority, the others by age. Messages for an execution that does not exist, or is
        CANCELLED or FAILED, become dead letters, and those of one that is SUSPENDED stay until it is resumed. sleep:
        where there is nothing, announces that the worker is going to sleep for so many seconds; a message then sends a
        notification on channel().
        """
        calls = await self._ready()
        call = calls.next(worker_id, visibility, limit, min_priority, self.max_attempts, sleep, self._now())
        return await self._run(call)

    async def finish(self, completions: Sequence[Completion]) -> list[Completed]:
        """Commits, publishes what the steps emit, and removes the messages, all in one transaction.

        One result for each, in order: each wins or loses by itself. A version is that now stored where the step was
        committed. Raises InvalidArgument, and nothing is settled, where one of them can never be.
        """
        calls = await self._ready()
        results = await self._run(calls.finish(completions, self.trace_max, self._now()))
        for completion, completed in zip(completions, results, strict=True):
            if completed.result == "finished" and completion.execution is not None:
                completion.execution.version += 1
        return results

    async def relay(self, limit: int = 1000) -> int:
        """Moves up to `limit` events that have a target from the outbox into the queue; returns how many."""
        calls = await self._ready()
        return await self._run(calls.relay(limit, self._now()))

    async def relay_spawns(self, limit: int = 1000) -> int:
        """Creates up to `limit` of the children that commits have asked for; returns how many requests it settled."""
        calls = await self._ready()
        return await self._run(calls.relay_spawns(limit, self._now()))

    async def fire_timers(self, now: float | None = None, limit: int = 1000) -> int:
        """Turns up to `limit` timers due at `now` (seconds since the epoch) into Timeout events; returns how many."""
        calls = await self._ready()
        return await self._run(calls.fire_timers(self._now() if now is None else now, limit))

    async def tick(self, limit: int = 1000) -> Tick:
        """relay_spawns(), relay() and fire_timers() in one, to be called from time to time."""
        calls = await self._ready()
        return await self._run(calls.tick(limit, self._now()))

    async def dead_letters(self, group_id: str | None = None, limit: int | None = None) -> list[DeadLetter]:
        """The messages taken out of the queue without having been handled, oldest first."""
        calls = await self._ready()
        return await self._run(calls.dead_letters(group_id, limit))

    async def redrive(self, group_id: str | None = None, id: str | None = None, limit: int | None = None) -> int:
        """Puts dead letters back at the head of their groups: one, those of a group, or all. Returns how many."""
        calls = await self._ready()
        return await self._run(calls.redrive(group_id, id, limit, self._now()))

    async def channel(self) -> str:
        """The channel to LISTEN on for messages that come while a worker sleeps."""
        calls = await self._ready()
        return await self._run(calls.channel())

    def _now(self) -> float | None:
        return None if self.clock is None else self.clock()
