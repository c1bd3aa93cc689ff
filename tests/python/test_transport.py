"""What the methods of a transport do, on both twins."""

import json
import time
from typing import Any

import psycopg
import pytest
from psycopg import Connection, sql
from pydantic import BaseModel, ConfigDict, ValidationError
from wire import LEAVE_FLOOR

from cluster import SHARDS, arrive
from harel import (
    Completed,
    Completion,
    Event,
    Execution,
    InvalidArgument,
    Lease,
    OutboxEntry,
    Status,
    Tick,
    TimerOp,
)

NAN = float("nan")
TABLES = (
    *("executions", "outbox", "processed_events", "timers", "spawns", "trace"),
    *("transport_groups", "transport_messages", "dead_letters"),
)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def content(session: "Connection[Any]") -> dict[str, list[Any]]:
    """Every row of every table."""
    return {
        table: session.execute(sql.SQL("SELECT * FROM {} ORDER BY 1, 2").format(sql.Identifier(table))).fetchall()
        for table in TABLES
    }


def kinds(leases: list[Any]) -> list[tuple[str, str]]:
    return [(lease.group_id, lease.event.kind) for lease in leases]


@pytest.fixture
def session(postgresql: "Connection[Any]") -> "Connection[Any]":
    postgresql.autocommit = True
    return postgresql


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def simulated(twin: Any, store_dsn: str, clock: Clock) -> Any:
    """A transport whose time is that of the clock."""
    return twin.transport(store_dsn, clock=clock)


@pytest.fixture
def exe(store: Any) -> Execution:
    exe = Execution(id="order-1", definition_id="order")
    store.save(exe)
    return exe


def test_a_message_is_claimed_by_the_clock_of_the_database(transport: Any) -> None:
    event = Event(kind="Go", data={"text": 'Zoë 🦉 "\\" {,} \u0000', "half": "\ud83d"})
    seq = transport.publish("g", event)
    before = time.time()
    lease = transport.claim("w", 30.0)
    assert lease == Lease("g", seq, event, lease.token, lease.deadline, 1)
    assert before + 29.0 < lease.deadline < time.time() + 31.0
    assert transport.claim("w", 30.0) is None
    assert transport.ack(lease) is True
    assert transport.ack(lease) is False
    assert transport.claim("w", 30.0) is None


def test_a_group_is_first_in_first_out_and_one_at_a_time(transport: Any) -> None:
    seqs = [transport.publish("g", Event(kind=str(n))) for n in range(3)]
    assert [seq - seqs[0] for seq in seqs] == [0, 1, 2]
    for n in range(3):
        (lease,) = transport.claim_many("w", 30.0, 10)
        assert (lease.event.kind, lease.seq) == (str(n), seqs[n])
        assert transport.ack(lease) is True
    assert transport.claim_many("w", 30.0, 10) == []


def test_many_are_published_in_the_order_given(transport: Any) -> None:
    messages = [(f"g{n % 3}", Event(kind=f"{n // 3}")) for n in range(9)]
    assert transport.publish_many(iter(messages)) == 9
    for n in range(3):
        leases = transport.claim_many("w", 30.0, 10)
        assert sorted(kinds(leases)) == [("g0", str(n)), ("g1", str(n)), ("g2", str(n))]
        assert [transport.ack(lease) for lease in leases] == [True] * 3
    assert transport.publish_many([]) == 0


def test_a_priority_counts_until_the_group_is_drained(transport: Any) -> None:
    transport.publish("plain", Event(kind="1"))
    transport.publish_many([("urgent", Event(kind="1"), 4), ("usual", Event(kind="1")), ["middle", Event(kind="1"), 2]])
    transport.publish("urgent", Event(kind="2"), 0)
    transport.publish("plain", Event(kind="2"), 4)
    assert kinds(transport.claim_many("w", 30.0, 10, min_priority=3)) == [("urgent", "1")]
    assert kinds(transport.claim_many("w", 30.0, 10, min_priority=1)) == [("middle", "1")]
    assert transport.claim("w", 30.0, min_priority=1) is None
    assert kinds(transport.claim_many("w", 30.0, 10)) == [("plain", "1"), ("usual", "1")]


def test_the_longest_available_is_first_and_one_just_served_is_last(simulated: Any, clock: Clock) -> None:
    for group in ("c", "a", "b"):
        simulated.publish_many([(group, Event(kind=str(n))) for n in range(2)])
        clock.now += 1
    served = []
    while lease := simulated.claim("w", 30.0):
        served.append((lease.group_id, lease.event.kind))
        simulated.ack(lease)
        clock.now += 1
    assert served == [("c", "0"), ("a", "0"), ("b", "0"), ("c", "1"), ("a", "1"), ("b", "1")]


def test_a_lease_is_over_at_its_deadline(simulated: Any, clock: Clock, exe: Execution) -> None:
    simulated.publish(exe.id, Event(kind="Go"))
    first = simulated.claim("first", 10.0)
    assert first.deadline == 1010.0
    clock.now = 1009.9
    assert simulated.claim("second", 10.0) is None
    clock.now = 1010.0
    second = simulated.claim("second", 10.0)
    assert (second.attempts, second.seq, second.token != first.token) == (2, first.seq, True)
    assert simulated.ack(first) is False
    assert simulated.nack(first) is False
    assert simulated.extend([first], 99.0) == {}
    assert simulated.finish([Completion(first, exe)]) == [Completed("expired", None, [])]
    assert exe.version == 1
    assert simulated.extend([second], 99.0) == {"order-1": 1109.0}
    assert simulated.finish([Completion(second, exe)]) == [Completed("finished", 2, [])]


def test_an_extension_prolongs_only_and_only_what_is_held(simulated: Any, clock: Clock) -> None:
    simulated.publish_many([(group, Event(kind="Go")) for group in "abc"])
    a, b, c = simulated.claim_many("w", 10.0, 3)
    simulated.ack(b)
    clock.now = 1005.0
    assert simulated.extend([a, b, c], 10.0) == {"a": 1015.0, "c": 1015.0}
    assert simulated.extend([a], 1.0) == {"a": 1015.0}
    assert simulated.extend([], 10.0) == {}
    clock.now = 1014.0
    assert simulated.claim("w", 10.0) is None
    assert simulated.ack(a) is True


def test_a_message_given_back_with_a_delay_holds_up_its_group_alone(simulated: Any, clock: Clock) -> None:
    simulated.publish_many([("a", Event(kind="1")), ("a", Event(kind="2")), ("b", Event(kind="1"))])
    lease = simulated.claim("w", 10.0)
    assert simulated.nack(lease, 5.0) is True
    assert simulated.nack(lease, 5.0) is False
    assert kinds(simulated.claim_many("w", 10.0, 10)) == [("b", "1")]
    clock.now = 1004.9
    assert simulated.claim("w", 10.0) is None
    clock.now = 1005.0
    again = simulated.claim("w", 10.0)
    assert (again.group_id, again.event.kind, again.attempts) == ("a", "1", 2)
    assert simulated.nack(again) is True
    assert simulated.claim("w", 10.0).attempts == 3


def test_a_message_delivered_too_often_is_a_dead_letter_until_it_is_put_back(
    twin: Any, store_dsn: str, clock: Clock
) -> None:
    transport = twin.transport(store_dsn, clock=clock, max_attempts=2)
    events = [Event(kind=str(n)) for n in range(3)]
    first, *_ = [transport.publish("g", event) for event in events]
    assert transport.nack(transport.claim("w", 10.0)) is True
    assert transport.nack(transport.claim("w", 10.0), 0.0, "it is odd") is True
    # The one after it is not given back either, but left to its deadline.
    for _ in range(2):
        assert transport.claim("w", 10.0).event == events[1]
        clock.now += 10.0
    assert transport.claim("w", 10.0).event == events[2]

    odd, late = transport.dead_letters()
    assert (odd.group_id, odd.seq, odd.reason, odd.attempts) == ("g", first, "it is odd", 2)
    assert Event.model_validate_json(odd.event) == events[0]
    assert (late.seq, late.attempts) == (first + 1, 2)
    assert "2 times" in late.reason
    assert odd.published_at <= odd.delivered_at <= odd.dead_at
    assert transport.dead_letters("other") == []
    assert transport.dead_letters("g", limit=1) == [odd]

    assert transport.redrive("other") == 0
    assert transport.redrive(id=late.id) == 1
    assert transport.redrive("g", limit=5) == 1
    assert transport.dead_letters() == []
    for event in events:
        lease = transport.claim("w", 10.0)
        assert (lease.event, lease.attempts) == (event, 1)
        transport.ack(lease)


def test_all_dead_letters_can_be_put_back_in_their_order(twin: Any, store_dsn: str) -> None:
    transport = twin.transport(store_dsn)
    transport.publish_many([(group, Event(kind=str(n))) for n in range(3) for group in "ab"])
    assert transport.next("w", 10.0, 10) == []
    assert len(transport.dead_letters()) == 6
    assert {letter.reason for letter in transport.dead_letters()} == {"there is no such execution"}
    assert transport.redrive() == 6
    for n in range(3):
        leases = transport.claim_many("w", 10.0, 10)
        assert sorted(kinds(leases)) == [("a", str(n)), ("b", str(n))]
        for lease in leases:
            transport.ack(lease)


def test_without_a_limit_a_message_is_delivered_for_ever(twin: Any, store_dsn: str) -> None:
    transport = twin.transport(store_dsn, max_attempts=None)
    transport.publish("g", Event(kind="Go"))
    for n in range(1, 26):
        lease = transport.claim("w", 10.0)
        assert lease.attempts == n
        transport.nack(lease)
    assert transport.dead_letters() == []


def test_a_message_is_sent_at_the_priority_of_its_execution(store: Any, transport: Any) -> None:
    store.save(Execution(id="urgent", definition_id="order", priority=3))
    assert transport.send("nowhere", Event(kind="Go")) is None
    assert transport.send("urgent", Event(kind="Go")) is not None
    assert transport.claim("w", 10.0, min_priority=4) is None
    assert transport.claim("w", 10.0, min_priority=3).group_id == "urgent"


def test_next_gives_each_message_with_its_execution(store: Any, transport: Any, exe: Execution) -> None:
    other = Execution(id="order-2", definition_id="order", context={"n": 1})
    store.commit(other, [], processed_event_id="seen")
    transport.publish(exe.id, Event(id="new", kind="Go"))
    transport.publish("order-2", Event(id="seen", kind="Again"))
    transport.publish("nowhere", Event(kind="Lost"))
    deliveries = {delivery.lease.group_id: delivery for delivery in transport.next("w", 10.0, 10)}
    assert set(deliveries) == {"order-1", "order-2"}
    assert (deliveries["order-1"].execution, deliveries["order-1"].already_processed) == (exe, False)
    assert (deliveries["order-2"].execution, deliveries["order-2"].already_processed) == (other, True)
    assert deliveries["order-1"].lease.event == Event(id="new", kind="Go")
    assert {delivery.error for delivery in deliveries.values()} == {None}
    assert [letter.group_id for letter in transport.dead_letters()] == ["nowhere"]
    # Completions without an execution only settle.
    results = transport.finish([Completion(delivery.lease) for delivery in deliveries.values()])
    assert [completed.result for completed in results] == ["finished"] * 2
    assert store.load("order-1") == exe


@pytest.mark.parametrize("status", [Status.CANCELLED, Status.FAILED])
def test_messages_of_one_cancelled_or_failed_are_dead_letters(store: Any, transport: Any, status: Status) -> None:
    store.save(Execution(id="x", definition_id="d", status=status))
    transport.publish_many([("x", Event(kind=str(n))) for n in range(3)])
    assert transport.next("w", 10.0, 10) == []
    assert [letter.reason for letter in transport.dead_letters("x")] == [f"the execution is {status}"] * 3


def test_next_passes_on_what_cannot_be_read_with_the_error(
    store: Any, transport: Any, session: "Connection[Any]"
) -> None:
    for id in ("a-good", "b-event", "c-both"):
        store.save(Execution(id=id, definition_id="d"))
    session.execute("SELECT harel_commit_cas('d-execution', 'd', '[\"no object\"]', 0)")
    for id in ("a-good", "d-execution"):
        transport.publish(id, Event(kind="Go"))
    session.execute("SELECT harel_publish('b-event', 'no JSON')")
    session.execute("SELECT harel_publish('c-both', %s)", ('{"id": 5}',))

    deliveries = {delivery.lease.group_id: delivery for delivery in transport.next("w", 30.0, 10)}
    assert sorted(deliveries) == ["a-good", "b-event", "c-both", "d-execution"]
    assert deliveries["a-good"].error is None
    for id in ("b-event", "c-both", "d-execution"):
        assert isinstance(deliveries[id].error, ValidationError)
        assert deliveries[id].execution is None
        assert id in deliveries[id].error.__notes__[0]
    # All of them are leased, and can be settled.
    assert transport.nack(deliveries["b-event"].lease, 0.0, "unreadable") is True
    assert transport.ack(deliveries["c-both"].lease) is True
    results = transport.finish([Completion(deliveries["d-execution"].lease), Completion(deliveries["a-good"].lease)])
    assert [completed.result for completed in results] == ["finished"] * 2


def test_a_claimed_event_that_cannot_be_read_says_where_it_stood(transport: Any, session: "Connection[Any]") -> None:
    session.execute("SELECT harel_publish('g', '[]')")
    with pytest.raises(ValidationError) as error:
        transport.claim("w", 30.0)
    assert "of 'g'" in error.value.__notes__[0]
    transport.publish("other", Event(kind="Go"))
    assert transport.claim("w", 30.0).group_id == "other"


def test_finish_commits_everything_and_settles(store: Any, transport: Any, session: Any, exe: Execution) -> None:
    store.commit(exe, [], timers=[TimerOp("schedule", "/waiting", 1.0)])
    store.save(Execution(id="other", definition_id="order", priority=2))
    event = Event(id="cause", kind="Go")
    transport.publish(exe.id, event)
    (delivery,) = transport.next("w", 30.0)
    given = delivery.execution
    given.context["paid"] = True
    (completed,) = transport.finish(
        [
            Completion(
                delivery.lease,
                given,
                emits=[("other", Event(kind="1")), (None, Event(id="told", kind="Told")), ("other", Event(kind="2"))],
                timers=[TimerOp("schedule", "/paying", 12.5), TimerOp("cancel", "/waiting")],
                spawns=[("child", "/order/shipping", {"n": [1, None]})],
                trace={"to": "/order/paid"},
            )
        ]
    )
    arrive(transport)
    (entry,) = store.pending_outbox()
    assert completed == Completed("finished", 3, completed.seqs if SHARDS else [entry.seq])
    assert given.version == 3
    assert store.load_for_event(exe.id, "cause") == (given, True)
    assert entry == OutboxEntry(entry.seq, None, Event(id="told", kind="Told"), exe.id)
    assert entry.seq in completed.seqs
    assert store.pending_spawns() == []
    assert store.due_timers(99.0) == [(exe.id, "/paying", 12.5)]
    assert store.read_trace(exe.id) == [{"to": "/order/paid", "index": 0}]
    child = store.load("child")
    assert (child.status, child.definition_id, child.root_path) == (Status.PENDING, "order", "/order/shipping")
    assert (child.parent_id, child.child_id, child.context) == (exe.id, "child", {"n": [1, None]})
    assert kinds(transport.claim_many("w", 30.0, 10, min_priority=2)) == [("other", "1")]
    assert kinds(transport.claim_many("w", 30.0, 10)) == [("child", "Start")]
    assert session.execute("SELECT count(*) FROM transport_messages").fetchone() == (3,)


def test_each_completion_wins_or_loses_by_itself(store: Any, simulated: Any, clock: Clock) -> None:
    exes = {id: Execution(id=id, definition_id="d") for id in ("c", "a", "b", "d")}
    for exe in exes.values():
        store.save(exe)
        simulated.publish(exe.id, Event(kind="Go"))
    late = simulated.claim("w", 5.0)
    clock.now += 5.0
    deliveries = {delivery.lease.group_id: delivery for delivery in simulated.next("w", 30.0, 10)}
    store.save(exes["a"])
    completions = [
        Completion(late, exes["c"], trace={"n": 1}),
        Completion(deliveries["a"].lease, deliveries["a"].execution, [(None, Event(kind="Told"))], trace={"n": 1}),
        Completion(deliveries["b"].lease, deliveries["b"].execution, [(None, Event(kind="Told"))], trace={"n": 1}),
        Completion(deliveries["d"].lease),
    ]
    results = simulated.finish(completions)
    (seq,) = [entry.seq for entry in store.pending_outbox()]
    assert results == [
        Completed("expired", None, []),
        Completed("conflict", 2, []),
        Completed("finished", 2, [seq]),
        Completed("finished", None, []),
    ]
    assert [exes["c"].version, *(deliveries[id].execution.version for id in "abd")] == [1, 1, 2, 1]
    assert [len(store.read_trace(id)) for id in "abcd"] == [0, 1, 0, 0]
    # The lease of the one in conflict still holds.
    again = store.load("a")
    assert simulated.finish([Completion(deliveries["a"].lease, again)]) == [Completed("finished", 3, [])]
    assert again.version == 3
    assert simulated.finish([]) == []


@pytest.mark.parametrize(
    ("caused", "code"),
    [
        ({"timers": [TimerOp("snooze", "/p", 1.0)]}, "ST005"),
        ({"timers": [TimerOp("schedule", "/p", NAN)]}, "ST006"),
        ({"trace": {"a": [NAN]}}, "ST003"),
        ({"emits": [(None, Event(kind="k", data={"a": NAN}))]}, "ST003"),
        ({"emits": [("", Event(kind="k"))]}, "ST001"),
        ({"emits": [("x" * 1001, Event(kind="k"))]}, "ST001"),
        ({"spawns": [("child", "/r", {"a": float("-inf")})]}, "ST003"),
        ({"spawns": [("", "/r", {})]}, "ST001"),
        ({"execution": Execution(id="another", definition_id="d")}, "ST001"),
        ({"execution": Execution(id="bad", definition_id="d", version=1, context={"a": NAN})}, "ST003"),
        ({"execution": Execution(id="bad", definition_id="", version=1)}, "ST001"),
        ({"execution": Execution(id="bad", definition_id="d", version=-2)}, "ST002"),
    ],
)
def test_a_mistake_in_one_completion_settles_none(
    store: Any, transport: Any, session: "Connection[Any]", caused: Any, code: str
) -> None:
    for id in ("bad", "good"):
        store.save(Execution(id=id, definition_id="d"))
        transport.publish(id, Event(kind="Go"))
    deliveries = {delivery.lease.group_id: delivery for delivery in transport.next("w", 30.0, 10)}
    good, bad = deliveries["good"], deliveries["bad"]
    before = content(session)
    with pytest.raises(InvalidArgument) as refused:
        transport.finish(
            [Completion(good.lease, good.execution), Completion(bad.lease, **{"execution": bad.execution, **caused})]
        )
    assert refused.value.code == code
    assert refused.value.detail
    assert refused.value.hint
    assert (good.execution.version, bad.execution.version) == (1, 1)
    assert content(session) == before
    assert transport.finish([Completion(good.lease, good.execution)])[0].result == "finished"


@pytest.mark.one_server("Citus (13.2) does not survive NULL for the id by which it finds a node")
@pytest.mark.parametrize(
    ("call", "statement"),
    [
        (lambda store, _: store.append_trace(None, {}), "SELECT harel_append_trace(NULL, '{}')"),
        (
            lambda store, _: store.save(Execution.model_construct(id=None, definition_id="d")),
            "SELECT harel_commit_cas(NULL, 'd', '{}', 0)",
        ),
        (lambda _, transport: transport.publish(None, Event(kind="k")), "SELECT harel_publish(NULL, '{}')"),
        (lambda _, transport: transport.send(None, Event(kind="k")), "SELECT harel_send(NULL, '{}')"),
        (
            lambda _, transport: transport.ack(Lease(None, 1, Event(kind="k"), "t", 0.0, 1)),
            "SELECT harel_ack(NULL, gen_random_uuid())",
        ),
    ],
)
def test_an_id_that_is_none_is_refused_as_by_the_function(
    store: Any, transport: Any, session: "Connection[Any]", call: Any, statement: str
) -> None:
    with pytest.raises(InvalidArgument) as refused:
        call(store, transport)
    with pytest.raises(psycopg.Error) as raised:
        session.execute(statement)
    diag = raised.value.diag
    assert (refused.value.code, refused.value.message) == (diag.sqlstate, diag.message_primary)
    assert (refused.value.detail, refused.value.hint) == (diag.message_detail, diag.message_hint)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda transport: transport.publish("", Event(kind="k")), "ST001"),
        (lambda transport: transport.publish("x" * 1001, Event(kind="k")), "ST001"),
        (lambda transport: transport.publish(None, Event(kind="k")), "ST001"),
        (lambda transport: transport.send(None, Event(kind="k")), "ST001"),
        (lambda transport: transport.ack(Lease(None, 1, Event(kind="k"), "t", 0.0, 1)), "ST001"),
        (lambda transport: transport.nack(Lease(None, 1, Event(kind="k"), "t", 0.0, 1)), "ST001"),
        (lambda transport: transport.publish("g", Event(kind="k", data={"a": NAN})), "ST003"),
        (lambda transport: transport.publish("g", Event(kind="k"), 5), "ST010"),
        (lambda transport: transport.publish("g", Event(kind="k"), -1), "ST010"),
        (lambda transport: transport.publish_many([("g", Event(kind="k")), ("", Event(kind="k"))]), "ST001"),
        (lambda transport: transport.publish_many([("g", Event(kind="k")), ("h", Event(kind="k"), 9)]), "ST010"),
        (lambda transport: transport.claim("", 1.0), "ST001"),
        (lambda transport: transport.claim("w", -1.0), "ST011"),
        (lambda transport: transport.claim("w", NAN), "ST011"),
        (lambda transport: transport.claim("w", float("inf")), "ST011"),
        (lambda transport: transport.claim("w", 1.0, 5), "ST010"),
        (lambda transport: transport.claim_many("w", 1.0, -1), "ST008"),
        (lambda transport: transport.next("w", 1.0, -1), "ST008"),
        (lambda transport: transport.next("w", 1.0, sleep=-1.0), "ST011"),
        (lambda transport: transport.nack(Lease("g", 1, Event(kind="k"), None, 0.0, 1)), "ST001"),
        (lambda transport: transport.ack(Lease("g", 1, Event(kind="k"), None, 0.0, 1)), "ST001"),
        (lambda transport: transport.relay(-1), "ST008"),
        (lambda transport: transport.relay_spawns(-1), "ST008"),
        (lambda transport: transport.fire_timers(NAN), "ST006"),
        (lambda transport: transport.fire_timers(1.0, -1), "ST008"),
        (lambda transport: transport.tick(-1), "ST008"),
        (lambda transport: transport.dead_letters(limit=-1), "ST008"),
        (lambda transport: transport.redrive(limit=-1), "ST008"),
    ],
)
def test_a_mistake_is_an_error_with_a_code_and_leaves_the_transport_usable(
    transport: Any, session: "Connection[Any]", call: Any, code: str
) -> None:
    with pytest.raises(InvalidArgument) as refused:
        call(transport)
    assert refused.value.code == code
    assert "\n" not in refused.value.message
    assert refused.value.detail
    assert refused.value.hint
    assert session.execute("SELECT count(*) FROM transport_messages").fetchone() == (0,)
    transport.publish("g", Event(kind="Go"))
    assert transport.claim("w", 1.0).group_id == "g"


def test_a_clock_that_is_none_is_an_error(twin: Any, store_dsn: str) -> None:
    transport = twin.transport(store_dsn, clock=lambda: NAN)
    with pytest.raises(InvalidArgument, match="ST006"):
        transport.publish("g", Event(kind="k"))


def test_relay_moves_what_has_a_target(store: Any, transport: Any, exe: Execution) -> None:
    store.save(Execution(id="urgent", definition_id="d", priority=4))
    store.commit(exe, [("urgent", Event(kind="1")), (None, Event(kind="Told")), ("urgent", Event(kind="2"))])
    assert transport.relay(limit=1) == 1
    assert transport.relay() == 1
    assert transport.relay() == 0
    assert [entry.event.kind for entry in store.pending_outbox()] == ["Told"]
    for kind in "12":
        lease = transport.claim("w", 1.0, min_priority=4)
        assert lease.event.kind == kind
        transport.ack(lease)


def test_relay_spawns_creates_the_children(store: Any, transport: Any, exe: Execution) -> None:
    store.commit(exe, [], spawns=[("c1", "/a", {"n": 1}), ("c2", "/b", {}), ("c1", "/taken", {})])
    assert transport.relay_spawns(limit=1) == 1
    assert transport.relay_spawns() == 2
    assert store.pending_spawns() == []
    child = store.load("c1")
    assert (child.root_path, child.context, child.parent_id, child.version) == ("/a", {"n": 1}, exe.id, 1)
    assert kinds(transport.claim_many("w", 1.0, 10)) == [("c1", "Start"), ("c2", "Start")]


def test_timers_fire_as_events(store: Any, simulated: Any, exe: Execution) -> None:
    paths = ['/p"\\ä', "/later", "/first"]
    times = [900.25, 1000.5, 800.0]
    timers = [TimerOp("schedule", path, at) for path, at in zip(paths, times, strict=True)]
    store.commit(exe, [], timers=timers)
    assert simulated.fire_timers(limit=1) == 1
    assert simulated.fire_timers() == 1
    assert simulated.fire_timers() == 0
    assert simulated.fire_timers(1000.5) == 1
    events = []
    while lease := simulated.claim("w", 1.0):
        events.append(lease.event)
        simulated.ack(lease)
    assert [event.kind for event in events] == ["Timeout"] * 3
    assert [event.data for event in events] == [{"path": paths[n], "fire_at": times[n]} for n in (2, 0, 1)]
    # The same timer set again for the same time is the same event.
    store.commit(exe, [], timers=[timers[0]])
    simulated.fire_timers()
    assert simulated.claim("w", 1.0).event.id == events[1].id
    assert len({event.id for event in events}) == 3


def test_a_tick_does_all_three_and_says_when_the_next_is_due(
    store: Any, simulated: Any, clock: Clock, exe: Execution
) -> None:
    assert simulated.tick() == Tick(0, 0, 0, None)
    store.commit(
        exe,
        [(exe.id, Event(kind="Go"))],
        spawns=[("child", "/r", {})],
        timers=[TimerOp("schedule", "/due", 999.0), TimerOp("schedule", "/later", 1234.5)],
    )
    assert simulated.tick() == Tick(1, 1, 1, 1234.5)
    simulated.nack(simulated.claim("w", 5.0), 100.0)
    assert simulated.tick() == Tick(0, 0, 0, 1100.0)


def test_the_channel_is_that_of_the_schema(twin: Any, store_dsn: str, transport: Any) -> None:
    other = twin.transport(store_dsn, schema="elsewhere")
    assert transport.channel().startswith("harel_")
    assert other.channel() != transport.channel()
    other.publish("g", Event(kind="Go"))
    assert transport.claim("w", 1.0) is None


def test_the_models_of_another_engine(twin: Any, store_dsn: str, session: "Connection[Any]") -> None:
    class Message(BaseModel):
        id: str
        name: str

    class Machine(BaseModel):
        model_config = ConfigDict(extra="ignore")
        id: str
        definition_id: str
        status: str = "RUNNING"
        version: int = 0
        score: float = 0.0

    options = {"execution_type": Machine, "event_type": Message}
    store, transport = (make(store_dsn, **options) for make in (twin.store, twin.transport))
    store.save(Machine(id="m", definition_id="d"))
    transport.publish("m", Message(id="e", name="go"))
    (delivery,) = transport.next("w", 30.0)
    assert delivery.lease.event == Message(id="e", name="go")
    assert delivery.execution == Machine(id="m", definition_id="d", version=1)
    delivery.execution.score = NAN
    with pytest.raises(InvalidArgument, match="ST003"):
        transport.finish([Completion(delivery.lease, delivery.execution)])
    delivery.execution.score = 0.5
    completion = Completion(delivery.lease, delivery.execution, [("m", Message(id="e2", name="on"))])
    assert transport.finish([completion])[0].result == "finished"
    assert store.load("m") == Machine(id="m", definition_id="d", version=2, score=0.5)
    arrive(transport)
    assert transport.claim("w", 30.0).event == Message(id="e2", name="on")
    # What these models leave out is kept from the start by nobody, but the version is always that of the row.
    (data,) = session.execute("SELECT data FROM executions").fetchone()
    assert json.loads(data)["version"] == 2


def test_the_cap_of_a_trace(twin: Any, store_dsn: str, store: Any, exe: Execution) -> None:
    transport = twin.transport(store_dsn, trace_max=2)
    for n in range(4):
        transport.publish(exe.id, Event(kind="Go"))
        (delivery,) = transport.next("w", 30.0)
        transport.finish([Completion(delivery.lease, delivery.execution, trace={"n": n})])
    assert store.read_trace(exe.id) == [{"n": n, "index": n} for n in (2, 3)]


@pytest.mark.parametrize("autocommit", [False, True])
def test_on_a_connection_of_the_caller_each_call_is_a_transaction(
    twin: Any, store_dsn: str, session: "Connection[Any]", autocommit: bool
) -> None:
    connection = twin.connect(store_dsn, autocommit=autocommit)
    transport = twin.transport(connection)
    transport.publish("g", Event(kind="Go"))
    assert session.execute("SELECT count(*) FROM transport_messages").fetchone() == (1,)
    with pytest.raises(InvalidArgument):
        transport.publish("", Event(kind="Go"))
    assert transport.ack(transport.claim("w", 30.0)) is True
    assert session.execute("SELECT count(*) FROM transport_messages").fetchone() == (0,)
    assert connection.info.transaction_status.name == "IDLE"


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_a_publish_joins_the_transaction_of_the_caller(
    twin: Any, store_dsn: str, session: "Connection[Any]", transport: Any, ending: str
) -> None:
    session.execute("CREATE TABLE mine (note text)")
    connection = twin.connect(store_dsn)
    own = twin.transport(connection)
    connection.execute("INSERT INTO mine VALUES ('with it')")
    own.publish("one", Event(kind="Go"))
    own.publish_many([("two", Event(kind="Go")), ("one", Event(kind="On"))])
    session.execute(LEAVE_FLOOR)
    assert transport.claim_many("w", 30.0, 10) == []
    assert session.execute("SELECT count(*) FROM mine").fetchone() == (0,)

    getattr(connection, ending)()
    committed = ending == "commit"
    assert session.execute("SELECT count(*) FROM mine").fetchone() == (int(committed),)
    claimed = kinds(transport.claim_many("w", 30.0, 10))
    assert sorted(claimed) == ([("one", "Go"), ("two", "Go")] if committed else [])
    assert session.execute("SELECT count(*) FROM transport_messages").fetchone() == (3 if committed else 0,)
    assert session.execute("SELECT count(*) FROM transport_groups").fetchone() == (2 if committed else 0,)


def test_a_refused_publish_spoils_the_transaction_like_any_error(twin: Any, store_dsn: str) -> None:
    connection = twin.connect(store_dsn)
    transport = twin.transport(connection)
    connection.execute("SELECT")
    transport.publish("g", Event(kind="Go"))
    with pytest.raises(InvalidArgument):
        transport.publish("g", Event(kind="Go"), 7)
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        transport.publish("g", Event(kind="Go"))
    connection.rollback()
    assert transport.claim("w", 1.0) is None


def test_a_nul_in_a_group_is_refused_and_leaves_the_transport_usable(transport: Any) -> None:
    with pytest.raises(InvalidArgument) as refused:
        transport.publish("a\0b", Event(kind="Go"))
    assert refused.value.code == "ST012"
    transport.publish("g", Event(kind="Go"))
    assert transport.claim("w", 1.0).group_id == "g"
