"""Every method of both clients with hostile values: it answers or refuses, and both client and store go on."""

import dataclasses
import inspect
import math
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from psycopg import sql
from pydantic import ValidationError
from values import CURSORS
from watch import OWNERS, content, others

from harel import (
    Completion,
    Event,
    Execution,
    InvalidArgument,
    Lease,
    PostgresStore,
    PostgresTransport,
    Status,
    StoreConflict,
    TimerOp,
)

NAN, INFINITY = math.nan, math.inf
DEEP: dict[str, Any] = {}
for _ in range(2_000):
    DEEP = {"a": DEEP}
LONG = 1_000_000 * "x"


def raising() -> Iterator[Any]:
    yield from ()
    raise LookupError("the caller's own")


WRONG = [5, 1.5, True, b"x", [], {}, ("a", "b"), object(), uuid.uuid4(), datetime.now(), Decimal("1.5")]
TEXT = [None, "", "\0", "a\0b", "\ud800", "'", '"', "\\", "%s", "$1", "é" * 501, LONG, Status.DONE, *WRONG]
CURSOR = [*TEXT, *CURSORS]
INTEGER = [None, -1, 0, 2**31 - 1, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**400, NAN, INFINITY, "1", "x", "", *WRONG]
NUMBER = [None, -1, 0, 1e300, 1.7e308, -1.7e308, 2**63, 10**400, NAN, INFINITY, -INFINITY, "1", "x", "", *WRONG]
FLAG = [None, 0, "x", *WRONG]
EVENT = [
    None,
    "x",
    Event(kind="k", id="\0"),
    Event(kind="\ud800", id="\udc00"),
    Event(kind="k", id=LONG),
    Event(kind="k", data={"a": NAN}),
    Event(kind="k", data=DEEP),
    Event(kind="k", data={"a": object(), "b": {1, 2}, "\0": "\0"}),
    Event.model_construct(kind=5, id=None),
    *WRONG,
]
TRACE = [
    None,
    "x",
    {"a": NAN},
    {"a": [INFINITY]},
    DEEP,
    {1: 2},
    {"\ud800": "\0"},
    {"a": object()},
    {"a": b"\xff"},
    *WRONG,
]
TARGETS = [None, "", "\0", "\ud800", LONG, *WRONG]
EMITS = [
    None,
    "ab",
    [None],
    [()],
    [("x",)],
    raising(),
    (pair for pair in [("x", Event(kind="k"))]),
    *([(target, Event(kind="k"))] for target in TARGETS),
    *([("x", event)] for event in EVENT),
    *WRONG,
]
TIMERS = [
    None,
    "ab",
    [None],
    [("schedule", "p", 1.0)],
    raising(),
    *([TimerOp("schedule", "p", fire_at)] for fire_at in NUMBER),  # type: ignore[arg-type]
    *([TimerOp("schedule", path, 1.0)] for path in TEXT),  # type: ignore[arg-type]
    *([TimerOp(action, "p", 1.0)] for action in TEXT),  # type: ignore[arg-type]
    *WRONG,
]
SPAWNS = [
    None,
    "ab",
    [None],
    [("c",)],
    raising(),
    *([("c", "r", context)] for context in TRACE),
    *([(child, "r", {})] for child in TEXT),
    *([("c", root_path, {})] for root_path in TEXT),
    *WRONG,
]
STATUS = [None, "", "x", "\0", "\ud800", LONG, [], [None], [5], ["\0"], [["DONE"]], raising(), 10_000 * ["x"], *WRONG]


def executions(good: Execution) -> list[Any]:
    """Executions with one hostile field each."""
    fields = {
        "id": TEXT,
        "definition_id": TEXT,
        "version": INTEGER,
        "status": [None, "x", "\0", "\ud800", LONG, 5, {}],
        "parent_id": [good.id, "\0", "\ud800", LONG, 5],
        "outcome": ["\0", LONG, NAN],
        "context": [{"a": NAN}, DEEP, {"a": object()}, {"\ud800": "\0"}, {"a": 2**70}, None],
    }
    return [
        None,
        "x",
        *WRONG,
        *(good.model_copy(update={name: value}) for name, values in fields.items() for value in values),
    ]


def leases(good: Lease) -> list[Any]:
    """Leases that were never given."""
    fields = {
        "group_id": TEXT,
        "token": [
            *TEXT,
            "00000000-0000-0000-0000-000000000000",
            good.token[:-1],
            good.token.upper(),
            f"{{{good.token}}}",
        ],
        "seq": INTEGER,
        "event": EVENT,
        "deadline": NUMBER,
        "attempts": INTEGER,
    }
    return [
        None,
        "x",
        *WRONG,
        *(dataclasses.replace(good, **{name: value}) for name, values in fields.items() for value in values),  # type: ignore[arg-type]
    ]


def lists_of(items: list[Any], good: Any) -> list[Any]:
    return [None, "ab", raising(), *WRONG, *([good, item] for item in items)]


def completions(lease: Lease, exe: Execution) -> list[Any]:
    good = Completion(lease, exe)
    fields: dict[str, list[Any]] = {
        "lease": leases(lease),
        "execution": executions(exe),
        "emits": EMITS,
        "timers": TIMERS,
        "spawns": SPAWNS,
        "trace": TRACE,
    }
    changed = [dataclasses.replace(good, **{name: value}) for name, values in fields.items() for value in values]
    return [None, "ab", raising(), *WRONG, *([completion] for completion in [None, *WRONG, *changed])]


class System:
    """A client, what its good calls act on, and an execution of somebody else's."""

    def __init__(self, session: "psycopg.Connection[Any]") -> None:
        session.autocommit = True
        self._session = session
        self.exe = Execution(id="mine", definition_id="d", status=Status.RUNNING, version=1)
        self.lease = Lease("mine", 0, Event(kind="Go"), "", 0.0, 1)

    def set_up(self) -> None:
        tables = sql.SQL(", ").join(map(sql.Identifier, OWNERS))
        self._session.execute(sql.SQL("TRUNCATE {} RESTART IDENTITY").format(tables))
        event = Event(kind="Go").model_dump_json()
        for id in ("mine", "by-1"):
            data = self.exe.model_copy(update={"id": id}).model_dump_json()
            self._session.execute(
                "SELECT harel_commit(%s, 'd', %s, 0, 'ev', %s, %s, %s, '{r}', '{0}', '{schedule}', '{due}', '{1}')",
                (id, data, [f"{id}-x"], [event], [f"{id}-child"]),
            )
            self._session.execute("SELECT harel_publish(%s, %s)", (id, event))
        (token,) = self._session.execute(
            "UPDATE transport_groups SET token = gen_random_uuid(), available_at = 4e9, attempts = 1"
            " WHERE group_id = 'mine' RETURNING token::text"
        ).fetchone()
        self.lease = dataclasses.replace(self.lease, token=token)
        self.exe.version = 1


Arguments = dict[str, tuple[Any, list[Any]]]


def calls_of_store(system: System) -> dict[str, Arguments]:
    """Each method, its arguments, and of each a good value and the hostile ones."""
    id = ("mine", TEXT)
    limit = (1, INTEGER)
    everything: Arguments = {
        "status": ("RUNNING", STATUS),
        "definition_id": ("d", TEXT),
        "roots_only": (False, FLAG),
    }
    return {
        "load": {"execution_id": id},
        "load_for_event": {"execution_id": id, "event_id": ("ev", TEXT)},
        "save": {"exe": (system.exe, executions(system.exe))},
        "commit": {
            "exe": (system.exe, executions(system.exe)),
            "emits": ([], EMITS),
            "processed_event_id": ("ev", TEXT),
            "timers": ([], TIMERS),
            "spawns": ([], SPAWNS),
            "trace": ({"a": 1}, TRACE),
            "step": (None, WRONG),
        },
        "is_processed": {"execution_id": id, "event_id": ("ev", TEXT)},
        "list_executions": {**everything, "limit": limit, "cursor": (None, CURSOR)},
        "pending_outbox": {"limit": limit},
        "ack_outbox": {"seq": limit},
        "deliver_outbox": {"handler": (lambda entries: None, [None, 5, raising]), "limit": limit},
        "pending_spawns": {"limit": limit},
        "ack_spawn": {"seq": limit},
        "due_timers": {"now": (1.0, NUMBER), "limit": limit},
        "delete_timer": {"execution_id": id, "path": ("due", TEXT), "fire_at": (1.0, NUMBER)},
        "append_trace": {"execution_id": id, "entry": ({"a": 1}, TRACE)},
        "read_trace": {"execution_id": id},
        "purge": {"execution_id": id, "expected_version": (1, INTEGER)},
        "purge_finished": {"older_than": (0.0, NUMBER), "limit": limit, "archive": (None, TEXT)},
        "purge_processed": {"older_than": (0.0, NUMBER), "limit": limit},
        "stats": {},
        "health": {},
        "ids_with_prefix": {"prefix": id},
        **{verb: {"execution_id": id} for verb in ("suspend", "resume", "cancel")},
        **{f"{verb}_all": {**everything, "dry_run": (False, FLAG)} for verb in ("suspend", "resume", "cancel")},
        "close": {},
    }


def calls_of_transport(system: System) -> dict[str, Arguments]:
    """The same of the queue."""
    id, event, limit = ("mine", TEXT), (Event(kind="Go"), EVENT), (1, INTEGER)
    messages = [("mine", Event(kind="Go"), 1)]
    hostile_messages = [
        *([(group_id, Event(kind="Go"))] for group_id in TEXT),
        *([("mine", event)] for event in EVENT),
        *([("mine", Event(kind="Go"), priority)] for priority in INTEGER),
        *([message] for message in ("ab", (), None, 5)),
    ]
    claim: Arguments = {"worker_id": ("w", TEXT), "visibility": (1.0, NUMBER)}
    lease = (system.lease, leases(system.lease))
    return {
        "publish": {"group_id": id, "event": event, "priority": limit},
        "publish_many": {"messages": (messages, [None, "ab", raising(), *WRONG, *hostile_messages])},
        "send": {"execution_id": id, "event": event},
        "claim": {**claim, "min_priority": (0, INTEGER)},
        "claim_many": {**claim, "limit": limit, "min_priority": (0, INTEGER)},
        "ack": {"lease": lease},
        "nack": {"lease": lease, "delay": (0.0, NUMBER), "reason": ("broken", TEXT)},
        "extend": {
            "leases": ([system.lease], lists_of(leases(system.lease), system.lease)),
            "visibility": (1.0, NUMBER),
        },
        "next": {**claim, "limit": limit, "min_priority": (0, INTEGER), "sleep": (1.0, NUMBER)},
        "finish": {"completions": ([], completions(system.lease, system.exe))},
        "relay": {"limit": limit},
        "relay_spawns": {"limit": limit},
        "fire_timers": {"now": (1.0, NUMBER), "limit": limit},
        "tick": {"limit": limit},
        "dead_letters": {"group_id": id, "limit": limit},
        "redrive": {"group_id": id, "id": (str(uuid.uuid4()), TEXT), "limit": limit},
        "channel": {},
        "close": {},
    }


def complaint(error: BaseException) -> str | None:
    """What is wrong with an error, for a caller who has to find out what to do; None where nothing is."""
    if isinstance(error, InvalidArgument):
        good = error.code.startswith("ST") and "\n" not in error.message and error.detail and error.hint
        cause = error.__cause__
        ours = error.code == "ST012" and isinstance(cause, psycopg.Error) and "PL/pgSQL" in (cause.diag.context or "")
        return f"{error!r} by {cause!r}" if not good or ours else None
    # The caller's mistakes in Python, and what the caller's own code raised.
    mistakes = (StoreConflict, TypeError, AttributeError, ValidationError, LookupError)
    return (
        None if isinstance(error, mistakes) or type(error) is ValueError else f"{type(error).__name__}: {error}"[:300]
    )


def shown(value: object) -> str:
    try:
        return ascii(value)[:80]
    except RecursionError:
        return "deep"


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")
@pytest.mark.parametrize("kind", ["store", "transport"])
def test_every_argument_of_every_method_may_be_anything(
    twin: Any, store_dsn: str, postgresql: "psycopg.Connection[Any]", kind: str
) -> None:
    system = System(postgresql)
    client = getattr(twin, kind)(store_dsn)
    system.set_up()
    calls = {"store": calls_of_store, "transport": calls_of_transport}[kind]
    faults: list[str] = []
    refused = 0
    for name in calls(system):
        system.set_up()
        arguments = calls(system)[name]
        before = content(postgresql)
        for argument, (_, values) in arguments.items():
            for value in values:
                what = f"{name}({argument}={shown(value)})"
                given = {key: good for key, (good, _) in arguments.items()} | {argument: value}
                if name == "deliver_outbox" and callable(given["handler"]):
                    given["handler"] = twin.handler(given["handler"])
                exe = given.get("exe")
                version = getattr(exe, "version", None)
                refusal = None
                try:
                    getattr(client, name)(**given)
                except Exception as error:
                    refusal = error
                after = content(postgresql)
                if refusal is not None:
                    refused += 1
                    if (why := complaint(refusal)) is not None:
                        faults.append(f"{what}: {why}")
                    if after != before:
                        faults.append(f"{what}: refused, and rows were changed")
                    if getattr(exe, "version", None) is not version:
                        faults.append(f"{what}: refused, and the version was changed")
                if name not in SWEEPS and others(after) != others(before):
                    faults.append(f"{what}: rows of others were changed")
                before = after
                _works(client, kind)
    assert not faults, "\n".join(faults[:40])
    assert refused > 300


# What acts on rows that the call does not name by their execution.
SWEEPS = {
    *("ack_outbox", "deliver_outbox", "ack_spawn", "suspend_all", "resume_all", "cancel_all"),
    *("purge_finished", "purge_processed"),
    *("claim", "claim_many", "next", "relay", "relay_spawns", "fire_timers", "tick", "redrive"),
}


def _works(client: Any, kind: str) -> None:
    if kind == "store":
        assert client.load("by-1").id == "by-1"
    else:
        assert client.channel()


@pytest.mark.parametrize(
    ("client_type", "calls"), [(PostgresStore, calls_of_store), (PostgresTransport, calls_of_transport)]
)
def test_every_method_is_reached_with_all_its_arguments(
    postgresql: "psycopg.Connection[Any]", client_type: type[Any], calls: Callable[[System], dict[str, Arguments]]
) -> None:
    methods = {
        name: set(inspect.signature(method).parameters) - {"self"}
        for name, method in inspect.getmembers(client_type, inspect.isfunction)
        if not name.startswith("_")
    }
    assert {name: set(arguments) for name, arguments in calls(System(postgresql)).items()} == methods
