"""What the methods of a store do, on both twins."""

import json
from typing import Any

import psycopg
import pytest
from psycopg import Connection, sql
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harel import (
    ChildState,
    Event,
    Execution,
    ExecutionPage,
    InvalidArgument,
    OutboxEntry,
    SpawnEntry,
    Status,
    StoreConflict,
    TimerOp,
)

TABLES = ("executions", "outbox", "processed_events", "timers", "spawns", "trace")
NAN = float("nan")


def content(session: "Connection[Any]") -> dict[str, list[Any]]:
    """Every row of the six tables."""
    return {
        table: session.execute(sql.SQL("SELECT * FROM {} ORDER BY 1, 2").format(sql.Identifier(table))).fetchall()
        for table in TABLES
    }


@pytest.fixture
def session(postgresql: "Connection[Any]") -> "Connection[Any]":
    postgresql.autocommit = True
    return postgresql


@pytest.fixture
def exe(store: Any) -> Execution:
    exe = Execution(id="order-1", definition_id="order")
    store.save(exe)
    return exe


def everything(exe: Execution) -> dict[str, Any]:
    """The arguments of a commit with something of each kind."""
    return {
        "exe": exe,
        "emits": [("other", Event(id="e1", kind="Paid")), (None, Event(id="e2", kind="Noticed"))],
        "processed_event_id": "cause",
        "timers": [TimerOp("schedule", "/paying", 12.5), TimerOp("cancel", "/waiting")],
        "spawns": [("child", "/order/shipping", {"n": 1})],
        "trace": {"to": "/order/paid"},
    }


def test_what_was_saved_is_loaded(store: Any) -> None:
    exe = Execution(
        definition_id="order",
        status=Status.RUNNING,
        active_path="/order/paying",
        history={"/order": "/order/paying"},
        context={"total": 12.5, "name": "Zoë\u0000 🦉", "lines": [1, None, {"a": True}]},
        children={"c": ChildState(root_path="/order/shipping")},
        invoke_seq={"pay": 3},
    )
    store.save(exe)
    assert exe.version == 1
    assert store.load(exe.id) == exe


def test_the_text_is_that_of_the_model_with_its_new_version(store: Any, session: "Connection[Any]") -> None:
    exe = Execution(definition_id="order")
    store.save(exe)
    store.save(exe)
    assert session.execute("SELECT data, version FROM executions").fetchone() == (exe.model_dump_json(), 2)


def test_fields_of_a_newer_writer_survive(store: Any, session: "Connection[Any]") -> None:
    data = (
        '{"id":"x","definition_id":"d","version":1,"priority":{"new":[1]},"children":{"c":{"root_path":"/r","new":1}}}'
    )
    session.execute("SELECT harel_commit_cas('x', 'd', %s, 0)", (data,))
    exe = store.load("x")
    store.save(exe)
    stored = json.loads(session.execute("SELECT data FROM executions").fetchone()[0])
    assert stored["priority"] == {"new": [1]}
    assert stored["children"]["c"]["new"] == 1


def test_the_version_is_that_of_the_row_whatever_the_data_says(store: Any, session: "Connection[Any]") -> None:
    session.execute("SELECT harel_commit_cas('x', 'd', %s, 0)", ('{"id":"x","definition_id":"d"}',))
    exe = store.load("x")
    assert exe.version == 1
    store.save(exe)
    assert store.load("x").version == 2


def test_nothing_is_loaded_where_there_is_nothing(store: Any) -> None:
    assert store.load("nothing") is None
    assert store.load_for_event("nothing", "event") == (None, False)
    assert store.is_processed("nothing", "event") is False
    assert store.read_trace("nothing") == []
    assert store.list_executions() == ExecutionPage(items=[], next_cursor=None)


def test_a_commit_writes_everything_of_its_step(store: Any, session: "Connection[Any]", exe: Execution) -> None:
    store.commit(exe, [], timers=[TimerOp("schedule", "/waiting", 1.0)])
    seqs = store.commit(**everything(exe))
    assert exe.version == 3
    assert store.pending_outbox() == [
        OutboxEntry(seqs[0], "other", Event(id="e1", kind="Paid"), "order-1"),
        OutboxEntry(seqs[1], None, Event(id="e2", kind="Noticed"), "order-1"),
    ]
    (spawn,) = store.pending_spawns()
    assert spawn == SpawnEntry(spawn.seq, "order-1", "child", "/order/shipping", {"n": 1})
    assert store.due_timers(12.5) == [("order-1", "/paying", 12.5)]
    assert store.read_trace("order-1") == [{"to": "/order/paid", "index": 0}]
    assert store.load_for_event("order-1", "cause") == (exe, True)
    assert store.load_for_event("order-1", "another") == (exe, False)


@pytest.mark.parametrize(
    "caused",
    [
        {"emits": [(None, Event(kind="Paid"))]},
        {"emits": [], "timers": [TimerOp("schedule", "/paying", 1.0)]},
        {"emits": [], "spawns": [("child", "/r", {})]},
        {"emits": [], "trace": {"a": 1}},
        {"emits": [], "processed_event_id": "event"},
    ],
)
def test_each_kind_of_effect_alone(store: Any, session: "Connection[Any]", exe: Execution, caused: Any) -> None:
    before = {table: len(rows) for table, rows in content(session).items()}
    store.commit(exe, **caused)
    after = {table: len(rows) for table, rows in content(session).items()}
    assert sum(after.values()) - sum(before.values()) == 1


@pytest.mark.parametrize("emits", [[], [(None, Event(kind="Paid"))]], ids=["fast path", "complex path"])
def test_a_conflict_says_which_and_writes_nothing(
    store: Any, session: "Connection[Any]", exe: Execution, emits: Any
) -> None:
    stale = exe.model_copy()
    store.save(exe)
    before = content(session)
    with pytest.raises(StoreConflict) as conflict:
        store.commit(stale, emits, "event", trace={"a": 1} if emits else None)
    assert (conflict.value.execution_id, conflict.value.expected, conflict.value.found) == ("order-1", 1, 2)
    assert stale.version == 1
    assert content(session) == before


def test_a_conflict_with_nothing_finds_no_version(store: Any) -> None:
    exe = Execution(id="gone", definition_id="d", version=3)
    with pytest.raises(StoreConflict, match="'gone' is at version None, not 3"):
        store.save(exe)


def test_a_second_first_save_is_a_conflict(store: Any, exe: Execution) -> None:
    with pytest.raises(StoreConflict):
        store.save(Execution(id=exe.id, definition_id="order"))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"timers": [TimerOp("snooze", "/p", 1.0)]}, "ST005"),
        ({"timers": [TimerOp("schedule", "/p", NAN)]}, "ST006"),
        ({"timers": [TimerOp("schedule", "/p", float("inf"))]}, "ST006"),
        ({"trace": {"a": [NAN]}}, "ST003"),
        ({"emits": [(None, Event(kind="k", data={"a": NAN}))]}, "ST003"),
        ({"emits": [("", Event(kind="k"))]}, "ST001"),
        ({"spawns": [("child", "/r", {"a": float("-inf")})]}, "ST003"),
        ({"spawns": [("", "/r", {})]}, "ST001"),
        ({"processed_event_id": "x" * 1001}, "ST001"),
    ],
)
def test_a_mistake_is_an_error_with_a_code_and_writes_nothing(
    store: Any, session: "Connection[Any]", exe: Execution, arguments: Any, code: str
) -> None:
    before = content(session)
    with pytest.raises(InvalidArgument) as refused:
        store.commit(exe, **{"emits": [], **arguments})
    assert refused.value.code == code
    assert "\n" not in refused.value.message
    assert refused.value.detail
    assert refused.value.hint
    assert exe.version == 1
    assert content(session) == before
    store.save(exe)


@pytest.mark.parametrize("value", [NAN, {"deep": [1, {"er": float("inf")}]}])
def test_nan_in_the_data_is_an_error_and_not_null(store: Any, exe: Execution, value: Any) -> None:
    exe.context["value"] = value
    with pytest.raises(InvalidArgument, match="ST003"):
        store.save(exe)
    exe.context["value"] = "NaN and Infinity are words"
    store.save(exe)
    assert store.load(exe.id) == exe


def test_half_a_surrogate_pair_can_be_stored(store: Any, exe: Execution) -> None:
    exe.context["half"] = "\ud83d"
    store.commit(exe, [(None, Event(kind="k", data={"h": "\ud83d"}))], trace={"h": "\ude00"})
    assert store.load(exe.id) == exe
    assert store.pending_outbox()[0].event.data == {"h": "\ud83d"}
    assert store.read_trace(exe.id)[0]["h"] == "\ude00"


def test_odd_data_of_another_writer_is_loaded_and_listed(store: Any, session: "Connection[Any]") -> None:
    odd = {
        "a-nul": r'{"id":"a-nul","definition_id":"d","status":"RUNNING","error":"\u0000"}',
        "b-half": r'{"id":"b-half","definition_id":"d","status":"RUNNING","error":"\ud83d"}',
        "c-big": '{"id":"c-big","definition_id":"d","status":"RUNNING","context":{"n":1e400}}',
        "d-twice": '{"id":"d-twice","definition_id":"d","status":"DONE","status":"RUNNING"}',
        "e-plain": '{"id":"e-plain","definition_id":"d","status":"RUNNING"}',
        "f-none": '{"id":"f-none","definition_id":"d"}',
        "g-new": '{"id":"g-new","definition_id":"d","status":"DREAMING"}',
    }
    for id, data in odd.items():
        assert session.execute("SELECT harel_commit_cas(%s, 'd', %s, 0)", (id, data)).fetchone() == (True,)
    assert [(item.id, item.status) for item in store.list_executions().items] == [
        *((id, Status.RUNNING) for id in list(odd)[:5]),
        ("f-none", None),
        ("g-new", "DREAMING"),
    ]
    for id in list(odd)[:6]:
        assert store.load(id).id == id
        assert session.execute("SELECT harel_load(%s)", (id,)).fetchone() == (odd[id],)
    assert store.load("b-half").error == "\ud83d"


def test_ten_megabytes_come_back(store: Any) -> None:
    exe = Execution(definition_id="d", context={"text": "ab" * 5_000_000})
    store.save(exe)
    assert store.load(exe.id) == exe


def test_the_models_of_another_engine(twin: Any, store_dsn: str) -> None:
    class Message(BaseModel):
        id: str
        kind: str

    class Machine(BaseModel):
        model_config = ConfigDict(extra="ignore")
        id: str
        definition_id: str
        version: int = 0
        score: float = 0.0
        notes: dict[str, Any] = Field(default_factory=dict)

    store = twin.store(store_dsn, execution_type=Machine, event_type=Message)
    machine = Machine(id="m", definition_id="d", notes={"a": 1})
    store.commit(machine, [("x", Message(id="e", kind="k"))])
    assert store.load("m") == machine
    assert store.pending_outbox()[0].event == Message(id="e", kind="k")
    # pydantic would write null for these.
    for broken in ({"score": NAN}, {"notes": {"deep": [NAN]}}):
        with pytest.raises(InvalidArgument, match="ST003"):
            store.save(machine.model_copy(update=broken))


def test_an_outbox_row_that_is_no_event_is_named(store: Any, session: "Connection[Any]", exe: Execution) -> None:
    session.execute("INSERT INTO outbox (event) VALUES ('[]')")
    with pytest.raises(ValidationError) as error:
        store.pending_outbox()
    assert "outbox row 1" in error.value.__notes__
    assert store.ack_outbox(1) is True


def test_outbox_and_spawns_oldest_first_until_settled(store: Any, exe: Execution) -> None:
    first = store.commit(exe, [("a", Event(kind="1")), ("b", Event(kind="2"))], spawns=[("c1", "/r", {})])
    second = store.commit(exe, [("a", Event(kind="3"))], spawns=[("c2", "/r", {})])
    assert [entry.seq for entry in store.pending_outbox()] == first + second
    assert [entry.seq for entry in store.pending_outbox(limit=2)] == first
    assert [entry.child_id for entry in store.pending_spawns()] == ["c1", "c2"]
    assert [entry.child_id for entry in store.pending_spawns(limit=1)] == ["c1"]
    assert [store.ack_outbox(first[0]), store.ack_outbox(first[0])] == [True, False]
    spawn = store.pending_spawns()[0].seq
    assert [store.ack_spawn(spawn), store.ack_spawn(spawn)] == [True, False]
    assert [entry.seq for entry in store.pending_outbox()] == [first[1], *second]
    assert [entry.child_id for entry in store.pending_spawns()] == ["c2"]


def test_timers_are_due_and_disarmed(store: Any, exe: Execution) -> None:
    store.commit(exe, [], timers=[TimerOp("schedule", "/late", 30.0), TimerOp("schedule", "/early", 10.0)])
    assert store.due_timers(9.9) == []
    assert store.due_timers(30.0) == [("order-1", "/early", 10.0), ("order-1", "/late", 30.0)]
    assert store.due_timers(30.0, limit=1) == [("order-1", "/early", 10.0)]
    store.commit(exe, [], timers=[TimerOp("schedule", "/early", 20.0)])
    assert store.delete_timer("order-1", "/early", 10.0) is False
    assert store.delete_timer("order-1", "/early", 20.0) is True
    assert store.due_timers(99.0) == [("order-1", "/late", 30.0)]


def test_a_trace_keeps_its_last_entries_and_their_numbers(store: Any, exe: Execution) -> None:
    store.trace_max = 3
    for n in range(4):
        store.commit(exe, [], trace={"n": n})
    assert store.append_trace(exe.id, {"n": 4}) == 4
    assert store.read_trace(exe.id) == [{"n": n, "index": n} for n in (2, 3, 4)]


def test_the_cap_of_a_trace_is_200(store: Any, exe: Execution) -> None:
    assert store.trace_max == 200
    for n in range(205):
        store.append_trace(exe.id, {"n": n})
    assert [entry["index"] for entry in store.read_trace(exe.id)] == list(range(5, 205))


def test_a_trace_entry_of_another_writer_is_shown_as_it_is(store: Any, session: "Connection[Any]") -> None:
    for entry in ("[1]", "no JSON", '{"a": 1}'):
        session.execute("SELECT harel_append_trace('x', %s)", (entry,))
    assert store.read_trace("x") == [
        {"entry": [1], "index": 0},
        {"entry": "no JSON", "index": 1},
        {"a": 1, "index": 2},
    ]


def test_pages_stay_exact_while_executions_come_and_go(store: Any, session: "Connection[Any]") -> None:
    for n in range(0, 40, 2):
        store.save(Execution(id=f"{n:03}", definition_id="d"))
    page = store.list_executions(limit=5)
    seen = [item.id for item in page.items]
    session.execute("DELETE FROM executions WHERE id IN ('000', '008', '012')")
    for id in ("001", "005", "011", "039"):
        store.save(Execution(id=id, definition_id="d"))
    while page.next_cursor:
        page = store.list_executions(limit=5, cursor=page.next_cursor)
        seen += [item.id for item in page.items]
    expected = [f"{n:03}" for n in range(0, 40, 2) if n != 12]
    assert seen == sorted([*expected, "011", "039"])


def test_a_listing_by_each_filter(store: Any) -> None:
    for n, (definition, status, parent) in enumerate(
        (d, s, p) for d in ("a", "b") for s in (Status.RUNNING, Status.DONE, Status.FAILED) for p in (None, "0")
    ):
        store.save(Execution(id=str(n), definition_id=definition, status=status, parent_id=parent))

    def ids(**filters: Any) -> str:
        return " ".join(item.id for item in store.list_executions(**filters).items)

    assert ids(definition_id="b") == "10 11 6 7 8 9"
    assert ids(status=Status.DONE) == "2 3 8 9"
    assert ids(status="DONE") == "2 3 8 9"
    assert ids(status=[Status.FAILED, "DONE"], roots_only=True) == "10 2 4 8"
    assert ids(status={Status.RUNNING}, definition_id="a") == "0 1"
    assert ids(definition_id="a", roots_only=True) == "0 2 4"
    assert ids(status=[]) == ""


def test_a_summary_shows_when_an_execution_finished(store: Any, session: "Connection[Any]", exe: Execution) -> None:
    assert store.list_executions().items[0].finished_at is None
    exe.status, exe.outcome, exe.active_path = Status.DONE, "delivered", "/order/delivered"
    store.save(exe)
    (item,) = store.list_executions().items
    (finished_at,) = session.execute("SELECT extract(epoch FROM finished_at)::float8 FROM executions").fetchone()
    assert item.model_dump() == {
        "id": "order-1",
        "definition_id": "order",
        "status": Status.DONE,
        "outcome": "delivered",
        "active_path": "/order/delivered",
        "version": 2,
        "parent_id": None,
        "finished_at": finished_at,
    }


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda store: store.list_executions(cursor="bm90IG91cnM="), "ST007"),
        (lambda store: store.list_executions(cursor="?"), "ST007"),
        (lambda store: store.list_executions(limit=0), "ST008"),
        (lambda store: store.pending_outbox(limit=-1), "ST008"),
        (lambda store: store.due_timers(NAN), "ST006"),
        (lambda store: store.ack_outbox(None), "ST001"),
        (lambda store: store.append_trace("", {}), "ST001"),
        (lambda store: store.append_trace("x", {"a": NAN}), "ST003"),
        (lambda store: store.save(Execution(id="", definition_id="d")), "ST001"),
        (lambda store: store.save(Execution(id="x", definition_id="d", version=-1)), "ST002"),
    ],
)
def test_a_mistake_leaves_the_store_usable(store: Any, call: Any, code: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        call(store)
    assert refused.value.code == code
    assert store.load("nothing") is None


def test_a_nul_in_an_id_is_refused_and_leaves_the_store_usable(store: Any) -> None:
    exe = Execution(id="a\0b", definition_id="d")
    with pytest.raises(psycopg.DataError):
        store.save(exe)
    assert exe.version == 0
    assert store.load("nothing") is None
