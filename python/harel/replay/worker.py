"""A worker process: it applies the events of the cases that it is dealt, each exactly once."""

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, TypeAlias

import psycopg

from ..engine.execution import Execution, Status
from ..engine.store import PostgresStore, StoreConflict, TimerOp
from ..spec.states import Event
from .log import Row

if TYPE_CHECKING:
    Channel: TypeAlias = Connection[Any, Any]

# How often a busy worker reports, in seconds.
REPORT_EVERY = 0.05

# A server that is down is waited for this long, and an event whose answer was lost is tried this often.
CONNECT_RETRIES, RETRY_DELAY = 300, 0.1
ATTEMPTS = 3

# Latencies are counted in classes of 2 % width.
_CLASS = math.log(1.02)


class ReplayError(RuntimeError):
    """The replay cannot go on, or the store does not hold what it has confirmed."""


@dataclass
class Tally:
    """What workers did: events applied, deliveries recognised as repeated, conflicts lost, and calls made again after
    a lost connection. `latencies` counts commits by the class of the seconds that they took.

    What a worker did between its last report and its death is missing here, though not in the store.
    """

    applied: int = 0
    recognised: int = 0
    conflicts: int = 0
    repeated: int = 0
    latencies: Counter[int] = field(default_factory=Counter)

    def committed(self, seconds: float) -> None:
        """Counts an event applied by a commit of so many seconds."""
        self.applied += 1
        self.latencies[round(math.log(seconds) / _CLASS)] += 1

    def add(self, other: "Tally") -> None:
        """Adds what another one counted."""
        self.applied += other.applied
        self.recognised += other.recognised
        self.conflicts += other.conflicts
        self.repeated += other.repeated
        self.latencies.update(other.latencies)

    def latency(self, share: float) -> float:
        """The seconds, to a per cent, that a commit took at most in this share (0 to 1) of cases; NaN without any."""
        left = share * self.latencies.total()
        for number in sorted(self.latencies):
            left -= self.latencies[number]
            if left <= 0:
                return math.exp(number * _CLASS)
        return math.nan


@dataclass(frozen=True)
class Step:
    """What one event does to an execution: its next state, and what is committed with it."""

    exe: Execution
    emits: list[tuple[str | None, Event]]
    timers: list[TimerOp]
    trace: dict[str, Any]


def event_id(case_id: str, position: int) -> str:
    """The id of the event of a row; the same whenever it is delivered. Rows of a case count from 0."""
    return f"{case_id}#{position}"


def decide(
    definition_id: str,
    case_id: str,
    rows: Sequence[Row],
    position: int,
    waits: Mapping[str, float],
    exe: Execution | None,
) -> Step:
    """The step of an execution (None: not there yet) for the row at a position. The execution itself stays as it is.

    Raises ReplayError where the execution has not applied exactly the rows before.
    """
    row, last = rows[position], position == len(rows) - 1
    applied = 0 if exe is None else exe.context.get("position")
    if applied != position:
        raise ReplayError(f"event {position} of case {case_id!r} cannot be applied: {applied} rows before it have been")
    before = None if exe is None else exe.active_path
    # Disarmed first: an event may lead back to the state that it comes from.
    timers = [TimerOp("cancel", before)] if before in waits and before is not None else []
    trace: dict[str, Any] = {
        "event_id": event_id(case_id, position),
        "from": before,
        "to": row.state,
        "timestamp": row.timestamp,
        "resource": row.resource,
    }
    if row.state in waits and not last:
        trace["timer"] = row.at + waits[row.state]
        timers.append(TimerOp("schedule", row.state, row.at + waits[row.state]))
    emits: list[tuple[str | None, Event]] = []
    if last:
        emits.append((None, Event(id=f"{case_id}#Finished", kind="Finished", data={"outcome": row.state})))
    following = (exe or Execution(id=case_id, definition_id=definition_id)).model_copy(
        update={
            "status": Status.DONE if last else Status.RUNNING,
            "outcome": row.state if last else None,
            "active_path": row.state,
            "context": {"position": position + 1},
        }
    )
    return Step(following, emits, timers, trace)


def apply(
    store: PostgresStore,
    definition_id: str,
    case_id: str,
    rows: Sequence[Row],
    position: int,
    waits: Mapping[str, float],
    tally: Tally,
) -> None:
    """Applies the event of a row exactly once, however often this is called and whoever else does the same.

    A lost race is decided anew, and a call whose connection broke is made again: whether it had succeeded is known
    from the mark that it left. Raises ReplayError, and psycopg.OperationalError when no server is to be had.
    """
    event = event_id(case_id, position)
    failures = 0
    while True:
        try:
            exe, processed = store.load_for_event(case_id, event)
            if exe is not None and exe.definition_id != definition_id:
                raise ReplayError(f"case {case_id!r} is taken by an execution of definition {exe.definition_id!r}")
            if processed:
                tally.recognised += 1
                return
            step = decide(definition_id, case_id, rows, position, waits, exe)
            started = time.perf_counter()
            store.commit(step.exe, step.emits, event, timers=step.timers, trace=step.trace)
            tally.committed(time.perf_counter() - started)
            return
        except StoreConflict:
            tally.conflicts += 1
        except psycopg.OperationalError:
            failures += 1
            tally.repeated += 1
            if failures == ATTEMPTS:
                raise


def open_store(dsn: str, schema: str | None = None, *, create_schema: bool = False) -> PostgresStore:
    """A store that keeps the whole trace, and waits for a server that is down. Raises what PostgresStore does."""
    failures = 0
    while True:
        try:
            return PostgresStore.from_dsn(
                dsn, CONNECT_RETRIES, RETRY_DELAY, schema=schema, create_schema=create_schema, trace_max=0
            )
        except psycopg.OperationalError:
            failures += 1
            if failures == ATTEMPTS:
                raise


@dataclass
class Report:
    """What a worker says: how many rows of each case it has handled, and what it did since it last said so.

    The first is empty, and says that the worker is ready.
    """

    handled: dict[str, int] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)


def work(channel: "Channel", dsn: str, schema: str | None, definition_id: str, waits: Mapping[str, float]) -> None:
    """The life of a worker process: it takes cases from the channel until it gets None or the coordinator is gone."""
    try:
        store = open_store(dsn, schema)
        channel.send(Report())
        report, reported = Report(), time.monotonic()
        while (case := channel.recv()) is not None:
            case_id, rows = case
            for position in range(len(rows)):
                apply(store, definition_id, case_id, rows, position, waits, report.tally)
                report.handled[case_id] = position + 1
                if position == len(rows) - 1 or time.monotonic() - reported >= REPORT_EVERY:
                    channel.send(report)
                    report, reported = Report(), time.monotonic()
        store.close()
    except (EOFError, ConnectionError):
        return
    except Exception as error:
        with suppress(OSError):
            channel.send(f"{type(error).__name__}: {error}")
