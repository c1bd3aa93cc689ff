"""A worker process of a replay, and the machine that it runs: each event is a row of the log."""

import asyncio
import logging
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, TypeAlias

from ..engine.execution import Execution, Status
from ..engine.store import TimerOp
from ..machine import Machine, Step
from ..spec.states import Event
from ..worker import Worker
from .log import Row

if TYPE_CHECKING:
    Channel: TypeAlias = Connection[Any, Any]

# How often a worker says what it has done, in seconds.
_REPORT_EVERY = 0.1


class ReplayError(RuntimeError):
    """The replay cannot go on, or an event has come out of its order."""


def event_id(case_id: str, position: int) -> str:
    """The id of the event of a row. Rows of a case count from 0."""
    return f"{case_id}#{position}"


def row_event(case_id: str, rows: Sequence[Row], position: int) -> Event:
    """The event of a row, with all that the machine needs to know of it."""
    row = rows[position]
    data = {"position": position, "timestamp": row.timestamp, "resource": row.resource}
    if position == len(rows) - 1:
        data["last"] = True
    return Event(id=event_id(case_id, position), kind=row.state, data=data)


def machine(waits: Mapping[str, float]) -> Machine:
    """The machine of a log, whose events lead to the state that they are named after.

    A state that waits has a timer, due so many seconds from now as `waits` has for it. It raises ReplayError where the
    execution has not applied exactly the rows before.
    """

    def apply(exe: Execution, event: Event) -> Step:
        position, applied, before = event.data.get("position"), exe.context["position"], exe.active_path
        if applied != position:
            raise ReplayError(f"event {event.id!r} cannot be applied: {applied} rows before it have been")
        # Disarmed first: an event may lead back to the state that it comes from.
        timers = [TimerOp("cancel", before)] if before is not None and before in waits else []
        trace = {
            "event_id": event.id,
            "from": before,
            "to": event.kind,
            "timestamp": event.data["timestamp"],
            "resource": event.data["resource"],
        }
        exe.context["position"] = applied + 1
        exe.active_path = event.kind
        if event.data.get("last"):
            exe.status, exe.outcome = Status.DONE, event.kind
            finished = Event(id=f"{exe.id}#Finished", kind="Finished", data={"outcome": event.kind})
            return Step(exe, [(None, finished)], timers, trace=trace)
        exe.status = Status.RUNNING
        if event.kind in waits:
            trace["timer"] = time.time() + waits[event.kind]
            timers.append(TimerOp("schedule", event.kind, trace["timer"]))
        return Step(exe, timers=timers, trace=trace)

    return apply


def work(
    channel: "Channel",
    worker_id: str,
    dsn: str,
    schema: str | None,
    definition_id: str,
    waits: Mapping[str, float],
    visibility: float,
) -> None:
    """The life of a worker process: it works until SIGTERM, or until its coordinator is gone, and tells it its tally.

    The first word says that it is ready. Instead of the last one there may be a text that says why it failed.
    """
    # What disturbs it is done on purpose, and what it does wrong is found in the database.
    logging.disable()
    worker = Worker(
        dsn, {definition_id: machine(waits)},
        schema=schema, worker_id=worker_id, visibility=visibility, trace_max=0,
    )  # fmt: skip

    async def run() -> None:
        loop, parent = asyncio.get_running_loop(), parent_process()
        loop.add_signal_handler(signal.SIGTERM, worker.stop)
        assert parent is not None

        def orphaned() -> None:
            loop.remove_reader(parent.sentinel)
            worker.stop()

        loop.add_reader(parent.sentinel, orphaned)
        reporting = asyncio.create_task(report())
        await worker.run()
        reporting.cancel()

    async def report() -> None:
        while True:
            channel.send(worker.tally)
            await asyncio.sleep(_REPORT_EVERY)

    with suppress(BrokenPipeError):
        try:
            asyncio.run(run())
            channel.send(worker.tally)
        except Exception as error:
            channel.send(f"{type(error).__name__}: {error}")
