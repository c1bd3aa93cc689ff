"""What goes into a queue and comes out of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ...spec.states import Event
from ..execution import Execution
from ..store._base import TimerOp, TraceEntry


@dataclass(frozen=True, slots=True)
class Lease:
    """A message in somebody's hands until `deadline` (seconds since the epoch): then it can be claimed by another.

    `token` names the lease; `attempts` says how often the message has been delivered, this time included.
    """

    group_id: str
    seq: int
    event: Event
    token: str
    deadline: float
    attempts: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """A leased message and the execution that it is for.

    Where the event or the execution cannot be read as its model, `error` says why, and the other two are None.
    """

    lease: Lease
    execution: Execution | None
    already_processed: bool
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What is to become of a leased message: the next state of its execution with all that the step caused.

    Without an execution the message only goes.
    """

    lease: Lease
    execution: Execution | None = None
    emits: Iterable[tuple[str | None, Event]] = ()
    timers: Iterable[TimerOp] = ()
    spawns: Iterable[tuple[str, str, dict[str, Any]]] = ()
    trace: TraceEntry | None = None


@dataclass(frozen=True, slots=True)
class Completed:
    """What became of it: `finished`; `conflict`, and the lease still holds; or `expired`, as the lease was over.

    `version` is the one now stored, where it is known. `seqs` are those of the events that went to the outbox.
    """

    result: str
    version: int | None
    seqs: list[int]


@dataclass(frozen=True, slots=True)
class Tick:
    """What a tick has done, and when the next timer, parked message or lease is due (seconds since the epoch)."""

    spawned: int
    relayed: int
    fired: int
    next_at: float | None


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that was taken out of the queue without having been handled. `event` is its text as published."""

    id: str
    group_id: str
    seq: int
    event: str
    reason: str
    attempts: int
    published_at: datetime
    delivered_at: datetime | None
    dead_at: datetime
