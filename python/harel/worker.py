"""A worker: takes messages from the queue, lets machines decide the steps, and commits them.

It spends two round trips on a batch of events: one that claims and loads them, and one that commits, publishes what the
steps emit, and settles. Under load batches fill by themselves, as events wait while the call before is under way.
"""

import asyncio
import inspect
import logging
import math
import os
import random
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any, Literal, TypeVar
from uuid import uuid4

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from .engine import _spans
from .engine.aio_store import AsyncPostgresStore
from .engine.aio_transport import AsyncPostgresTransport
from .engine.execution import Execution, Status
from .engine.store._base import is_loss_of_node
from .engine.store._connect import connect_options
from .engine.transport import Completed, Completion, Delivery, Lease, PostgresTransport
from .machine import Machine, Step
from .spec.states import Event

__all__ = ["Machine", "Step", "Worker"]

Result = TypeVar("Result")

log = logging.getLogger(__name__)

# Whoever claims a message for one of these puts it where it belongs.
HELD_BACK = (Status.CANCELLED, Status.FAILED, Status.SUSPENDED)

# Seconds: the shortest pause of an idle worker, the one between ticks that find work, and how long a fuller batch is
# waited for.
_SHORTEST_PAUSE = 0.002
_BETWEEN_TICKS = 0.02
_FILLING = 0.005


class _NoMachineError(LookupError):
    """This worker has no machine for the definition of an execution."""


class _StoppedError(Exception):
    """The worker was stopped while the database did not answer."""


class Worker:
    """Runs machines over the queue of a store until it is stopped.

    machines: for each definition id the function that decides a step; it may be a coroutine function. A blocking one
        holds up the other steps of this worker, but not the heartbeat.
    concurrency: how many messages are held at once, of as many executions.
    batch: how many are claimed or settled by one call at most.
    visibility: seconds for which a message is leased; the heartbeat prolongs it for as long as a step takes.
    on_error: what becomes of an event whose step raises. `fail` brings the execution to FAILED, with the `error`.
        `retry` tries again with growing delays, until the message, delivered `max_attempts` times, is a dead letter.
    poll: seconds between looks at the queue, and at timers and outbox, while there is nothing to do. A message wakes
        the worker before that, where the server can be listened to.
    listen: whether to listen; without, sessions keep their settings too.
    pooler: whether the DSN leads to a pooler, such as pgbouncer in transaction mode: the worker then neither listens
        nor prepares statements nor changes settings.

    `tally` counts what it has done: `finished`, `repeated` (events handled before), `conflicts`, `expired` (leases
    lost), `failed` and `retried` (steps that raised).
    """

    def __init__(
        self,
        dsn: str,
        machines: Mapping[str, Machine],
        *,
        schema: str | None = None,
        worker_id: str | None = None,
        concurrency: int = 100,
        batch: int = 50,
        visibility: float = 30.0,
        min_priority: int = 0,
        on_error: Literal["fail", "retry"] = "fail",
        max_attempts: int = 20,
        trace_max: int = 200,
        poll: float = 1.0,
        listen: bool = True,
        pooler: bool = False,
        execution_type: type[Execution] = Execution,
        event_type: type[Event] = Event,
    ) -> None:
        if on_error not in ("fail", "retry"):
            raise ValueError(f"on_error must be 'fail' or 'retry', not {on_error!r}")
        if concurrency < 1 or batch < 1 or not visibility > 0 or not poll > 0:
            raise ValueError("concurrency and batch must be at least 1, visibility and poll more than 0 seconds")
        self.worker_id = worker_id or f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
        self.tally: Counter[str] = Counter()
        self._dsn = dsn
        self._machines = machines
        self._options: dict[str, Any] = {
            "schema": schema, "execution_type": execution_type, "event_type": event_type, "trace_max": trace_max,
        }  # fmt: skip
        self._concurrency = concurrency
        self._batch = min(batch, concurrency)
        self._visibility = visibility
        self._min_priority = min_priority
        self._on_error = on_error
        self._max_attempts = max_attempts
        self._poll = poll
        self._listen = listen and not pooler
        self._pooler = pooler
        self._held: dict[str, tuple[Lease, float]] = {}
        self._stopping = asyncio.Event()
        self._awake = asyncio.Event()
        self._settled = asyncio.Event()
        self._armed = asyncio.Event()
        self._due = math.inf
        self._completions: asyncio.Queue[tuple[Delivery, Completion]] = asyncio.Queue()

    def stop(self) -> None:
        """Takes no more messages: run() returns once those in hand are settled."""
        self._stopping.set()
        self._awake.set()

    async def run(self, *, signals: Sequence[signal.Signals] = ()) -> None:
        """Works until stop() is called, or one of `signals` comes; a second one ends it at once.

        Steps that have begun are finished, and what was claimed and not begun is given back. Waits for a server that is
        down, at the start (15 s) and ever after. Raises what AsyncPostgresStore does where there is no store and none
        can be created, and what the database says to a role that may not work.
        """
        loop, this = asyncio.get_running_loop(), asyncio.current_task()

        working = True

        def interrupted() -> None:
            if self._stopping.is_set() and working and this is not None:
                this.cancel()
                # Again, if need be: see _work().
                loop.call_later(0.1, interrupted)
            self.stop()

        async with AsyncExitStack() as closing:
            options = {**self._options, "max_attempts": self._max_attempts, "pooler": self._pooler}
            self._transport = await AsyncPostgresTransport.from_dsn(self._dsn, pool_size=2, **options)
            closing.push_async_callback(self._transport.close)
            self._claims = await AsyncPostgresTransport.from_dsn(self._without_flush(), pool_size=4, **options)
            closing.push_async_callback(self._claims.close)
            self._claims._has_spans = False
            self._store = AsyncPostgresStore(self._transport._connection, **self._options)
            still = threading.Event()
            heart = threading.Thread(target=self._heartbeat, args=(still,), name="harel-heartbeat", daemon=True)
            heart.start()
            closing.push_async_callback(asyncio.to_thread, heart.join)
            closing.callback(still.set)
            for number in signals:
                loop.add_signal_handler(number, interrupted)
                closing.callback(loop.remove_signal_handler, number)
            try:
                await self._work()
            finally:
                working = False

    async def _work(self) -> None:
        def failed(task: "asyncio.Task[None]") -> bool:
            return task.done() and not task.cancelled() and task.exception() is not None

        def ended(task: "asyncio.Task[None]") -> None:
            if failed(task):
                self.stop()
                self._settled.set()

        try:
            async with asyncio.TaskGroup() as self._tasks:
                others = [self._tasks.create_task(work()) for work in (self._settle, self._tick, self._hear)]
                for other in others:
                    other.add_done_callback(ended)
                try:
                    await self._fetch()
                    while self._held and not any(map(failed, others)):
                        self._settled.clear()
                        await self._settled.wait()
                finally:
                    # Until they are: wait_for() of Python 3.11 loses a cancellation that comes with its result.
                    while pending := [other for other in others if not other.done()]:
                        for other in pending:
                            other.cancel()
                        with suppress(asyncio.CancelledError):
                            await asyncio.wait(pending, timeout=0.1)
        except BaseExceptionGroup as group:
            # The others were cancelled for the first.
            raise group.exceptions[0] from None

    def _without_flush(self) -> str:
        """The DSN for calls whose commits need not reach the disk at once: claims, ticks and what is given back.

        A crash of the server that undoes one leaves the queue as it was before it. What a step commits is flushed, and
        everything before it. A pooler would not take the setting.
        """
        if not self._listen:
            return self._dsn
        options = conninfo_to_dict(self._dsn).get("options") or os.environ.get("PGOPTIONS", "")
        return make_conninfo(self._dsn, options=f"{options} -c synchronous_commit=off".strip())

    async def _fetch(self) -> None:
        """Claims messages until the worker is stopped."""
        idle = 0
        while not self._stopping.is_set():
            room = self._concurrency - len(self._held)
            if room < self._batch:
                # A fuller batch is worth a little waiting, and without room there is nothing else to do.
                self._settled.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(None if room == 0 else _FILLING):
                        await self._settled.wait()
                room = self._concurrency - len(self._held)
                if room == 0 or self._stopping.is_set():
                    continue
            self._awake.clear()
            try:
                deliveries = await self._retried(
                    self._claims.next,
                    self.worker_id,
                    self._visibility,
                    min(room, self._batch),
                    self._min_priority,
                    # Longer than the pause, or messages would wake nobody just before the next look.
                    None if idle == 0 else self._poll + 0.5,
                    until_stopped=True,
                )
            except _StoppedError:
                return
            if self._stopping.is_set():
                await asyncio.gather(*(self._give_back(delivery.lease) for delivery in deliveries))
            elif deliveries:
                idle = 0
                self._begin(deliveries)
                # Now what they have made ready can be settled while more is claimed.
                await asyncio.sleep(0)
            else:
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(self._poll, _SHORTEST_PAUSE * 2**idle)):
                        await self._awake.wait()
                idle = 1 if self._awake.is_set() else min(idle + 1, 20)

    def _begin(self, deliveries: Sequence[Delivery]) -> None:
        now = time.monotonic()
        for delivery in deliveries:
            self._held[delivery.lease.group_id] = (delivery.lease, now)
        for delivery in deliveries:
            self._decide(delivery)

    def _decide(self, delivery: Delivery) -> None:
        """Lets the machine decide; one that is a coroutine goes on by itself."""
        with _spans.step(delivery):
            try:
                step = None if delivery.already_processed else self._step(delivery)
                if inspect.isawaitable(step):
                    self._tasks.create_task(self._decided(delivery, step))
                else:
                    self._complete(delivery, step)
            except Exception as error:
                self._tasks.create_task(self._failed(delivery, error))

    def _step(self, delivery: Delivery) -> Step | Awaitable[Step | None] | None:
        if delivery.error is not None:
            raise delivery.error
        exe = delivery.execution
        assert exe is not None
        machine = self._machines.get(exe.definition_id)
        if machine is None:
            raise _NoMachineError(f"no machine for the definition {exe.definition_id!r}")
        return machine(exe, delivery.lease.event)

    async def _decided(self, delivery: Delivery, step: Awaitable[Step | None]) -> None:
        try:
            self._complete(delivery, await step)
        except (Exception, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            await self._failed(delivery, error)

    def _complete(self, delivery: Delivery, step: Step | None) -> None:
        if step is None:
            completion = Completion(delivery.lease)
        else:
            emits = _spans.emitted(delivery.lease, step.emits)
            completion = Completion(delivery.lease, step.execution, emits, step.timers, step.spawns, step.trace)
        self._completions.put_nowait((delivery, completion))

    async def _settle(self) -> None:
        """Commits what is complete, all that there is at once."""
        while True:
            items = [await self._completions.get()]
            while len(items) < self._batch and not self._completions.empty():
                items.append(self._completions.get_nowait())
            await self._finish(items)

    async def _finish(self, items: list[tuple[Delivery, Completion]]) -> None:
        try:
            results = await self._retried(self._transport.finish, [completion for _, completion in items])
        except Exception as error:
            if len(items) > 1:
                # One of them can never be; the others must not suffer for it.
                for item in items:
                    await self._finish([item])
            else:
                self._tasks.create_task(self._failed(items[0][0], error))
            return
        for (delivery, completion), completed in zip(items, results, strict=True):
            self._conclude(delivery, completion, completed)
        # Groups that were served may have more.
        self._awake.set()

    def _conclude(self, delivery: Delivery, completion: Completion, completed: Completed) -> None:
        if completed.result == "conflict":
            self.tally["conflicts"] += 1
            _spans.step_ended(delivery.lease, "conflict")
            self._tasks.create_task(self._reconsider(delivery))
            return
        if completed.result == "expired":
            # Another has the message, or this very call was made before and its answer lost.
            result = "expired"
        elif delivery.already_processed:
            result = "repeated"
        else:
            result = "finished" if delivery.error is None else "failed"
            self._due = min([self._due, *(timer.fire_at for timer in completion.timers if timer.action == "schedule")])
            self._armed.set()
        self.tally[result] += 1
        _spans.step_ended(delivery.lease, result, completion)
        self._release(delivery.lease)

    def _release(self, lease: Lease) -> None:
        held = self._held.get(lease.group_id)
        # Where it was lost, the one that came after it may be held by now.
        if held is not None and held[0].token == lease.token:
            del self._held[lease.group_id]
        self._settled.set()

    async def _reconsider(self, delivery: Delivery) -> None:
        """Another commit came first: decide anew, on what it left."""
        await asyncio.sleep(random.uniform(0, 0.02))
        lease = delivery.lease
        try:
            exe, already_processed = await self._retried(self._store.load_for_event, lease.group_id, lease.event.id)
        except Exception as error:
            # What the other has left cannot be read.
            await self._failed(Delivery(lease, None, False, error), error)
            return
        if exe is None or exe.status in HELD_BACK:
            await self._give_back(lease)
            return
        self._decide(Delivery(lease, exe, already_processed))

    async def _failed(self, delivery: Delivery, error: BaseException) -> None:
        """Records what a step raised on its execution, or gives the message back to be tried again."""
        lease = delivery.lease
        _spans.step_failed(lease, error)
        # Printable, as no text of a database can hold a NUL or half of a surrogate pair.
        reason = f"{type(error).__name__}: {error}".replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
        if self._on_error == "retry" or delivery.error is not None or isinstance(error, _NoMachineError):
            log.warning("execution %s, attempt %d: %s", lease.group_id, lease.attempts, reason)
            self.tally["retried"] += 1
            _spans.step_ended(lease, "retried")
            await self._give_back(lease, min(60.0, 0.1 * 2 ** min(lease.attempts, 20)) * random.uniform(0.5, 1), reason)
            return
        log.error("execution %s has failed: %s", lease.group_id, reason, exc_info=error)
        # The step may have changed the execution before it raised.
        try:
            exe, already_processed = await self._retried(self._store.load_for_event, lease.group_id, lease.event.id)
        except Exception as unreadable:
            await self._failed(Delivery(lease, None, False, unreadable), error)
            return
        if exe is None or already_processed or exe.status is Status.SUSPENDED:
            await self._give_back(lease)
            return
        if exe.status is Status.DONE or exe.status in HELD_BACK:
            # What comes too late does not undo the end.
            await self._failed(Delivery(lease, exe, False, RuntimeError(reason)), error)
            return
        exe.status = Status.FAILED
        exe.error = reason
        trace = {"event": lease.event.kind, "event_id": lease.event.id, "error": reason}
        # With its error, so that what cannot even be recorded goes the other way.
        self._complete(Delivery(lease, exe, False, RuntimeError(reason)), Step(exe, trace=trace))

    async def _give_back(self, lease: Lease, delay: float = 0.0, reason: str | None = None) -> None:
        _spans.step_ended(lease, "returned")
        try:
            await self._retried(self._claims.nack, lease, delay, reason)
        except psycopg.Error as error:
            log.warning("execution %s could not be given back: %s", lease.group_id, error)
        self._release(lease)

    async def _tick(self) -> None:
        """Relays and fires timers, also under full load."""
        while True:
            self._due = math.inf
            tick = await self._retried(self._claims.tick)
            now = time.time()
            until = now + self._poll
            if tick.spawned or tick.relayed or tick.fired:
                self._awake.set()
                until = now
            elif tick.next_at is not None and tick.next_at > now:
                # In the past it is of a server whose clock is behind: no reason to hurry.
                until = min(until, tick.next_at + _SHORTEST_PAUSE)
            # A step may arm a timer that is due before that.
            while (pause := max(min(until, self._due + _SHORTEST_PAUSE), now + _BETWEEN_TICKS) - time.time()) > 0:
                self._armed.clear()
                # Not wait_for(): before Python 3.12 it can lose a cancellation.
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(pause, self._poll)):
                        await self._armed.wait()
            # It may be a message that was parked: nobody else tells of it.
            if tick.next_at is not None and tick.next_at <= time.time():
                self._awake.set()

    async def _hear(self) -> None:
        """Wakes the worker when a message comes."""
        if not self._listen:
            return
        channel = await self._retried(self._claims.channel)
        while True:
            with suppress(psycopg.OperationalError):
                connection = await psycopg.AsyncConnection.connect(self._dsn, **connect_options(self._dsn))
                async with connection:
                    await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
                    # What came before was not heard.
                    self._awake.set()
                    async for _ in connection.notifies():
                        self._awake.set()
            await asyncio.sleep(random.uniform(0, 1))

    def _heartbeat(self, still: threading.Event) -> None:
        """Prolongs the leases of steps that take long, in a thread of its own: a step may block the event loop."""
        transport: PostgresTransport | None = None
        interval = min(self._visibility / 3, threading.TIMEOUT_MAX)
        while not still.wait(interval):
            now = time.monotonic()
            # Most steps are done by then. Half the visibility is left at least, for a machine that stands still.
            old = [lease for lease, since in list(self._held.values()) if now - since >= interval / 2]
            try:
                if old:
                    transport = transport or PostgresTransport.from_dsn(
                        self._dsn, 0, create_schema=False, pooler=self._pooler, **self._options
                    )
                    transport._has_spans = False
                    transport.extend(old, self._visibility)
            except Exception as error:
                log.warning("the heartbeat failed: %s", error)
        if transport is not None:
            transport.close()

    async def _retried(self, call: Callable[..., Awaitable[Result]], *args: Any, until_stopped: bool = False) -> Result:
        """Calls until the database answers. Each call may be made twice: a lease is settled only once.

        Raises _StoppedError where it does not, and the worker is stopped.
        """
        longest = 0.1
        while True:
            try:
                return await call(*args)
            except psycopg.Error as error:
                if not isinstance(error, psycopg.OperationalError) and not is_loss_of_node(error):
                    raise
                log.warning("the database does not answer: %s", " ".join(str(error).split()))
            if until_stopped and self._stopping.is_set():
                raise _StoppedError
            # At random, or all workers would come back at once.
            await asyncio.sleep(random.uniform(0, longest))
            longest = min(5.0, longest * 2)
