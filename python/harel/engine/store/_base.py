"""What goes into a store and comes out of it, and what it raises."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...spec.states import Event


@dataclass(frozen=True)
class TimerOp:
    """An operation on the timer of one path: `schedule` it for `fire_at` (seconds since the epoch) or `cancel` it."""

    action: str
    path: str
    fire_at: float = 0.0


@dataclass(frozen=True)
class OutboxEntry:
    """An event waiting to be sent; `target_id` is None for a broadcast, `source_id` is who emitted it."""

    seq: int
    target_id: str | None
    event: Event
    source_id: str | None = None


@dataclass(frozen=True)
class SpawnEntry:
    """A child execution waiting to be created."""

    seq: int
    parent_id: str
    child_id: str
    root_path: str
    context: dict[str, Any]


@dataclass(frozen=True)
class Stats:
    """The state of a store at one moment.

    executions: how many by status. queued: messages; oldest_wait: seconds for which the first that can be claimed has
    waited, None where none waits. outbox: events with a target; broadcasts: those without. oldest_overdue: seconds for
    which the first overdue timer has been due. processed_events: rows of the ledger. Totals of 1000 or more are
    estimates; leased, outbox and overdue_timers are counted, up to 10000.
    """

    executions: dict[str, int]
    queued: int
    oldest_wait: float | None
    leased: int
    outbox: int
    broadcasts: int
    spawns: int
    timers: int
    overdue_timers: int
    oldest_overdue: float | None
    dead_letters: int
    processed_events: int


@dataclass(frozen=True)
class Problem:
    """Something that is wrong with a store or its server, the figures, and what to do about it."""

    problem: str
    detail: str
    remedy: str


class StoreError(Exception):
    """Base of what a store itself raises. Errors of the database driver come through as they are."""


class StoreConflict(StoreError):
    """Another worker committed first: nothing was written. Load the execution again and decide anew.

    `expected` is the version that the commit was based on, `found` the one now stored: None where there is no such
    execution, or where a transaction of a stricter isolation level than READ COMMITTED cannot see it.
    """

    def __init__(self, execution_id: str, expected: int, found: int | None) -> None:
        super().__init__(execution_id, expected, found)
        self.execution_id = execution_id
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return f"execution {self.execution_id!r} is at version {self.found}, not {self.expected}"


class CommitOutcomeUnknown(StoreError):
    """The connection was lost in a commit, and whether it was carried out cannot be found out: load it and look.

    A commit that names a `processed_event_id` can simply be tried again: load_for_event() tells whether the event has
    been handled. The cause is the error of the database driver. `expected` is the version that the commit was based on.
    """

    def __init__(self, execution_id: str, expected: int) -> None:
        super().__init__(execution_id, expected)
        self.execution_id = execution_id
        self.expected = expected

    def __str__(self) -> str:
        return (
            f"the connection was lost in the commit of execution {self.execution_id!r} at version {self.expected}: "
            "whether it was carried out is not known"
        )


class InvalidArgument(StoreError, ValueError):
    """A call that no store can carry out.

    `code` is a SQLSTATE of class ST, `detail` names the ids, `hint` the remedy.
    """

    def __init__(self, code: str, message: str, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(code, message, detail, hint)
        self.code = code
        self.message = message
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        return " ".join(part for part in (f"{self.code}: {self.message}.", self.detail, self.hint) if part)


class ShardsDisagree(InvalidArgument):
    """The shards asked for are not those that the databases know, or a database is another one of them (ST016).

    Nothing was changed. Name the databases that the first client named: every one of them, and each once.
    """


class StoreNotInstalled(StoreError):
    """There is no store in the database, or not in the schema asked for."""


class StoreVersionMismatch(StoreError):
    """The store in the database is of a version that this client does not know."""


def translated(error: BaseException) -> StoreError | None:
    """The store's own error that a driver's error stands for; None if it stands for none."""
    code = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    diag: Any = getattr(error, "diag", None)
    if _is_of_an_argument(error) and "PL/pgSQL" not in (getattr(diag, "context", None) or ""):
        return InvalidArgument(
            "ST012",
            "an argument is no value of its type",
            str(error).partition("\n")[0],
            "Pass texts without NUL and half surrogate pairs, and numbers within their range.",
        )
    if not (isinstance(code, str) and code.startswith("ST")):
        return None
    error_type = ShardsDisagree if code == "ST016" else InvalidArgument
    return error_type(
        code,
        getattr(diag, "message_primary", None) or str(error),
        getattr(diag, "message_detail", None),
        getattr(diag, "message_hint", None),
    )


def _is_of_an_argument(error: BaseException) -> bool:
    # What no driver can send, and what the server refuses before it calls a function: DataError is a name of PEP 249.
    return isinstance(error, UnicodeEncodeError) or any(base.__name__ == "DataError" for base in type(error).__mro__)


def is_serialization_failure(error: BaseException) -> bool:
    """Whether the server undid a transaction because of another one (SQLSTATE 40001)."""
    return "40001" in (getattr(error, "sqlstate", None), getattr(error, "pgcode", None))


def is_loss_of_node(error: BaseException) -> bool:
    """Whether the server cannot reach another one, or has lost it when that may have done its part of the call.

    What it says so by is of the class 08, or, of a node of Citus that is lost, an internal error and where it was.
    """
    code, diag = getattr(error, "sqlstate", None) or "", getattr(error, "diag", None)
    place = getattr(diag, "context", None) or ""
    return code.startswith("08") or (code == "XX000" and "while executing command on" in place)


TraceEntry = Mapping[str, Any]
