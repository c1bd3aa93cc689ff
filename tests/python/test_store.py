"""What the methods of a store do, on both twins."""

import json
import sys
from threading import Thread
from typing import Any

import pytest
from psycopg import Connection, sql
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from wire import opened, until

from harel import (
    ChildState,
    Event,
    Execution,
    ExecutionPage,
    InvalidArgument,
    OutboxEntry,
    SpawnEntry,
    Stats,
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
        (lambda store: store.append_trace(None, {}), "ST001"),
        (lambda store: store.save(Execution.model_construct(id=None, definition_id="d")), "ST001"),
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


def test_a_purge_removes_everything_of_one_execution(
    store: Any, transport: Any, session: "Connection[Any]", exe: Execution
) -> None:
    other = Execution(id="other", definition_id="order")
    store.commit(**{**everything(exe), "emits": [("order-1", Event(kind="Paid"))]})
    store.commit(**{**everything(other), "emits": [("other", Event(kind="Paid"))]})
    for id in ("order-1", "other"):
        transport.publish(id, Event(kind="Go"))
    assert store.purge("order-1", exe.version) is True
    assert store.load("order-1") is None
    left = content(session)
    assert {table: len(rows) for table, rows in left.items()} == dict.fromkeys(TABLES, 1)
    assert "order-1" not in str(left)
    assert session.execute("SELECT group_id FROM transport_messages").fetchall() == [("other",)]
    assert store.purge("order-1", exe.version) is False


def test_one_that_has_moved_on_is_not_purged_and_one_purged_not_committed(store: Any, exe: Execution) -> None:
    stale = exe.model_copy()
    store.commit(exe, [], trace={"a": 1})
    assert store.purge(exe.id, stale.version) is False
    assert store.read_trace(exe.id) == [{"a": 1, "index": 0}]
    assert store.purge(exe.id, exe.version) is True
    with pytest.raises(StoreConflict) as conflict:
        store.commit(exe, [(None, Event(kind="k"))])
    assert (conflict.value.expected, conflict.value.found) == (2, None)
    assert store.pending_outbox() == []


def test_a_purge_of_nothing_sweeps_what_is_left(store: Any, transport: Any, session: "Connection[Any]") -> None:
    store.append_trace("gone", {"a": 1})
    transport.publish("gone", Event(kind="Go"))
    assert store.purge("gone", 7) is False
    assert store.read_trace("gone") == []
    assert transport.claim("w", 1.0) is None


def test_ids_with_a_prefix_in_the_order_of_their_bytes(store: Any) -> None:
    ids = ["a", "a%", "a%b", "aB", "a_", "ab", "ab/1", "ab/10", "ab/2", "abc", "ac", "b", "ä", "äb", "\U0010ffff"]
    for id in reversed(ids):
        store.save(Execution(id=id, definition_id="d"))
    for prefix in ("", "a", "a%", "a_", "ab/", "ab/1", "ä", "\U0010ffff", "nothing", "A"):
        assert store.ids_with_prefix(prefix) == sorted(
            (id for id in ids if id.startswith(prefix)), key=lambda id: id.encode()
        )


def test_a_step_of_an_engine_is_taken_and_not_used(store: Any, exe: Execution) -> None:
    store.commit(exe, [], step=object())
    assert exe.version == 2


def test_suspended_with_its_children_resumed_and_cancelled(store: Any, transport: Any) -> None:
    for id, status, parent in (
        ("parent", Status.RUNNING, None),
        ("child", Status.PENDING, "parent"),
        ("grandchild", Status.DONE, "child"),
        ("other", Status.RUNNING, None),
    ):
        store.save(Execution(id=id, definition_id="order", status=status, parent_id=parent))
    transport.publish_many([("child", Event(kind="Go")), ("other", Event(kind="Go"))])

    def statuses() -> list[Status]:
        return [store.load(id).status for id in ("parent", "child", "grandchild", "other")]

    assert store.suspend("parent") is True
    assert statuses() == [Status.SUSPENDED, Status.SUSPENDED, Status.DONE, Status.RUNNING]
    assert [delivery.lease.group_id for delivery in transport.next("w", 30.0, 10)] == ["other"]
    assert store.suspend("parent") is False
    assert store.resume("parent") is True
    assert store.resume("parent") is False
    assert statuses() == [Status.RUNNING, Status.PENDING, Status.DONE, Status.RUNNING]
    (delivery,) = transport.next("w", 30.0, 10)
    assert (delivery.lease.group_id, delivery.execution) == ("child", store.load("child"))
    assert store.cancel("parent") is True
    assert store.cancel("parent") is False
    assert statuses() == [Status.CANCELLED, Status.CANCELLED, Status.DONE, Status.RUNNING]
    assert [letter.group_id for letter in transport.dead_letters()] == ["child"]
    for verb in (store.suspend, store.resume, store.cancel):
        assert verb("nothing") is False


def test_all_that_match_are_controlled_and_a_dry_run_only_counts(store: Any, session: "Connection[Any]") -> None:
    for id, definition, status, parent in (
        ("a1", "a", Status.RUNNING, None),
        ("a2", "a", Status.PENDING, None),
        ("a3", "a", Status.RUNNING, "a1"),
        ("a4", "a", Status.FAILED, None),
        ("b1", "b", Status.RUNNING, None),
    ):
        store.save(Execution(id=id, definition_id=definition, status=status, parent_id=parent))

    def statuses() -> str:
        return " ".join(item.status[0] for item in store.list_executions().items)

    before = content(session)
    assert store.suspend_all(dry_run=True) == 4
    assert store.cancel_all(dry_run=True) == 4
    assert store.resume_all(dry_run=True) == 0
    assert store.suspend_all(definition_id="a", roots_only=True, dry_run=True) == 2
    assert store.suspend_all(status=["PENDING", Status.FAILED], dry_run=True) == 1
    assert store.suspend_all(status=[], dry_run=True) == 0
    assert content(session) == before

    assert store.suspend_all(definition_id="a", status=Status.RUNNING, roots_only=True) == 1
    assert statuses() == "S P S F R"
    assert store.resume_all(definition_id="b") == 0
    assert store.resume_all(definition_id="a") == 2
    assert statuses() == "R P R F R"
    assert store.cancel_all(status="PENDING") == 1
    assert statuses() == "R C R F R"
    assert store.cancel_all() == 3
    assert statuses() == "C C C F C"


def outbox(store: Any) -> list[str]:
    return [entry.event.kind for entry in store.pending_outbox()]


def test_an_outbox_is_delivered_to_a_handler_and_removed(twin: Any, store: Any, exe: Execution) -> None:
    store.commit(exe, [("a", Event(kind="1")), (None, Event(kind="2")), ("b", Event(kind="3"))])
    pending, delivered = store.pending_outbox(), []
    assert store.deliver_outbox(twin.handler(delivered.extend), 2) == 2
    assert delivered == pending[:2]
    assert outbox(store) == ["3"]
    assert store.deliver_outbox(twin.handler(delivered.extend), None) == 1
    assert delivered == pending
    # Where there is nothing the handler is not called.
    assert store.deliver_outbox(None) == 0
    with pytest.raises(InvalidArgument, match="ST008"):
        store.deliver_outbox(None, -1)
    assert store.load(exe.id) == exe


def test_an_outbox_stays_where_the_handler_raises(twin: Any, store: Any, exe: Execution) -> None:
    store.commit(exe, [("a", Event(kind="1")), ("a", Event(kind="2"))])
    seen = []

    def handle(entries: list[OutboxEntry]) -> None:
        seen.append(entries)
        if len(seen) == 1:
            raise ConnectionError("the broker is away")

    with pytest.raises(ConnectionError):
        store.deliver_outbox(twin.handler(handle))
    assert outbox(store) == ["1", "2"]
    assert store.deliver_outbox(twin.handler(handle)) == 2
    assert seen[0] == seen[1]
    assert outbox(store) == []


def test_two_deliveries_at_once_never_share_a_row(twin: Any, store_dsn: str, store: Any, exe: Execution) -> None:
    store.commit(exe, [("a", Event(kind=str(n))) for n in range(5)])
    delivered = []
    with opened("sync", store_dsn) as other:

        def handle(entries: list[OutboxEntry]) -> None:
            # While this one holds its two, others are delivered, and what is committed meanwhile.
            assert other.deliver_outbox(delivered.extend, 2) == 2
            other.commit(Execution(definition_id="order"), [("a", Event(kind="late"))])
            assert other.deliver_outbox(delivered.extend, 9) == 2
            assert other.deliver_outbox(delivered.extend, 9) == 0
            # They hold it up for nobody who reads.
            assert outbox(other) == ["0", "1"]
            delivered.extend(entries)

        assert store.deliver_outbox(twin.handler(handle), 2) == 2
    kinds = [entry.event.kind for entry in delivered]
    # Of several nodes the order is that of each execution.
    assert [*kinds[:2], {*kinds[2:4]}, *kinds[4:]] == ["2", "3", {"4", "late"}, "0", "1"]
    assert outbox(store) == []


def test_a_row_that_is_no_event_is_delivered_to_nobody(
    twin: Any, store: Any, session: "Connection[Any]", exe: Execution
) -> None:
    store.commit(exe, [("a", Event(kind="1"))])
    session.execute("INSERT INTO outbox (source_id, version, event) VALUES (%s, 9, '[]')", (exe.id,))
    (seq,) = session.execute("SELECT seq FROM outbox WHERE version = 9").fetchone()
    with pytest.raises(ValidationError) as error:
        store.deliver_outbox(None)
    assert f"outbox row {seq}" in error.value.__notes__
    assert store.deliver_outbox(twin.handler(lambda entries: None), 1) == 1


@pytest.mark.parametrize("autocommit", [False, True])
@pytest.mark.parametrize("raises", [False, True])
def test_a_delivery_on_a_connection_of_the_caller_is_a_transaction(
    twin: Any, store_dsn: str, store: Any, exe: Execution, autocommit: bool, raises: bool
) -> None:
    store.commit(exe, [("a", Event(kind="1"))])
    connection = twin.connect(store_dsn, autocommit=autocommit)
    own = twin.store(connection)

    def handle(entries: list[OutboxEntry]) -> None:
        if raises:
            raise ConnectionError

    if raises:
        with pytest.raises(ConnectionError):
            own.deliver_outbox(twin.handler(handle))
    else:
        own.deliver_outbox(twin.handler(handle))
    assert outbox(store) == (["1"] if raises else [])
    assert connection.info.transaction_status.name == "IDLE"
    assert connection.autocommit is autocommit
    own.save(exe)
    assert store.load(exe.id).version == exe.version == 3


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_a_delivery_joins_the_transaction_of_the_caller(
    twin: Any, store_dsn: str, store: Any, exe: Execution, ending: str
) -> None:
    store.commit(exe, [("a", Event(kind="1"))])
    connection = twin.connect(store_dsn)
    own = twin.store(connection)
    own_exe = Execution(id="mine", definition_id="d")
    connection.execute("SELECT")
    own.save(own_exe)
    assert own.deliver_outbox(twin.handler(lambda entries: None)) == 1
    # A delivery that fails undoes nothing but itself.
    own.commit(own_exe, [("a", Event(kind="2"))])
    with pytest.raises(ConnectionError):
        own.deliver_outbox(twin.handler(raising))
    assert outbox(store) == ["1"]
    getattr(connection, ending)()
    assert outbox(store) == (["2"] if ending == "commit" else ["1"])
    assert (store.load("mine") is not None) is (ending == "commit")


def raising(entries: list[OutboxEntry]) -> None:
    raise ConnectionError


def test_a_call_of_another_thread_waits_for_the_delivery_of_a_shared_store(store_dsn: str) -> None:
    with opened("sync", store_dsn) as store, opened("sync", store_dsn) as observer:
        store.commit(Execution(definition_id="order"), [("a", Event(kind="1"))])
        exe = Execution(id="mine", definition_id="d")
        thread = Thread(target=store.save, args=(exe,))

        def handle(entries: list[OutboxEntry]) -> None:
            thread.start()
            # It waits for the store, which shows nowhere in the database.
            until(lambda: not thread.is_alive() or sys._current_frames()[thread.ident].f_code.co_name == "_take")
            raise ConnectionError

        with pytest.raises(ConnectionError):
            store.deliver_outbox(handle)
        thread.join()
        # It was neither lost with the delivery nor made before it.
        assert observer.load("mine") == exe
        assert outbox(observer) == ["1"]


def test_a_nul_in_an_id_is_refused_and_leaves_the_store_usable(store: Any) -> None:
    exe = Execution(id="a\0b", definition_id="d")
    with pytest.raises(InvalidArgument) as refused:
        store.save(exe)
    assert refused.value.code == "ST012"
    assert exe.version == 0
    assert store.load("nothing") is None


def test_what_finished_long_ago_is_purged_in_batches(store: Any, session: "Connection[Any]") -> None:
    for n in range(3):
        finished = Execution(id=f"finished-{n}", definition_id="d", status=Status.DONE)
        store.commit(finished, [], f"event-{n}", trace={"n": n})
    store.commit(Execution(id="running", definition_id="d", status=Status.RUNNING), [], "event")
    session.execute("UPDATE executions SET finished_at = now() - interval '1 day' WHERE id <> 'running'")
    assert store.purge_finished(2 * 86400) == 0
    assert store.purge_finished(3600, limit=2) == 2
    assert store.purge_finished(3600) == 1
    assert [item.id for item in store.list_executions().items] == ["running"]
    assert session.execute("SELECT execution_id FROM processed_events").fetchall() == [("running",)]


def test_the_archive_gets_each_before_it_goes(store: Any, session: "Connection[Any]") -> None:
    session.execute("CREATE TABLE archived (id text, data text)")
    session.execute(
        "CREATE FUNCTION archive(text, text) RETURNS void LANGUAGE sql AS 'INSERT INTO public.archived VALUES ($1, $2)'"
    )
    exe = Execution(id="a", definition_id="d", status=Status.DONE)
    store.save(exe)
    assert store.purge_finished(0, archive="public.archive(text,text)") == 1
    assert store.load("a") is None
    (data,) = session.execute("SELECT data FROM archived WHERE id = 'a'").fetchone() or ()
    assert Execution.model_validate_json(data) == exe


def test_old_events_are_forgotten_in_batches(store: Any, exe: Execution) -> None:
    for n in range(3):
        store.commit(exe, [], f"event-{n}")
    assert store.purge_processed(3600) == 0
    assert store.purge_processed(0, limit=2) == 2
    assert [store.is_processed(exe.id, f"event-{n}") for n in range(3)] == [False, False, True]


def test_stats_say_how_much_there_is(store: Any, transport: Any, exe: Execution) -> None:
    exe.status = Status.RUNNING
    store.commit(**everything(exe))
    transport.publish(exe.id, Event(kind="Paid"))
    stats = store.stats()
    assert 0 < stats.oldest_wait < 60
    assert stats == Stats(
        executions={"RUNNING": 1}, queued=1, oldest_wait=stats.oldest_wait, leased=0, outbox=1, broadcasts=1, spawns=1,
        timers=1, overdue_timers=1, oldest_overdue=stats.oldest_overdue, dead_letters=0, processed_events=1,
    )  # fmt: skip


def test_health_names_what_is_wrong(store: Any, session: "Connection[Any]", exe: Execution) -> None:
    def problems() -> list[str]:
        # The server of the tests is what it is, and so is a machine that stands still between client and server.
        found = [problem for problem in store.health() if "fsync" not in problem.detail]
        return [problem.problem for problem in found if "clocks" not in problem.problem]

    assert problems() == []
    session.execute("INSERT INTO timers VALUES ('e', 'p', 1)")
    assert problems() == ["timers are overdue"]
    session.execute("CREATE OR REPLACE FUNCTION harel_version() RETURNS text LANGUAGE sql AS 'SELECT ''1.7'''")
    assert problems() == ["client and store are of different versions", "timers are overdue"]
