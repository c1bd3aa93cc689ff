"""Each call of a client is one round trip, counted between it and the server."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from wire import KINDS, Proxy, opened, opened_transport

from harel import (
    Completion,
    Event,
    Execution,
    ExecutionStore,
    InvalidArgument,
    Lease,
    PostgresTransport,
    StoreConflict,
    TimerOp,
)

# psycopg prepares a statement, at the price of a round trip, when it has executed it five times.
TIMES_BEFORE_PREPARED = 6

# Each connection prepares for itself.
ONE_CONNECTION: dict[str, dict[str, Any]] = {"sync": {}, "async": {"pool_size": 1}}

Use = Callable[[ExecutionStore, Execution], Any]


def complex_commit(store: ExecutionStore, exe: Execution) -> list[int]:
    return store.commit(
        exe,
        [(None, Event(kind="Told")), ("other", Event(kind="Asked"))],
        processed_event_id=f"event {exe.version}",
        timers=[TimerOp("schedule", "waiting", 10.0), TimerOp("cancel", "working")],
        spawns=[("child", "region", {"n": 1})],
        trace={"event": "Told"},
    )


USES: dict[str, Use] = {
    "load": lambda store, exe: store.load(exe.id),
    "load of nothing": lambda store, exe: store.load("nowhere"),
    "load_for_event": lambda store, exe: store.load_for_event(exe.id, "event"),
    "save": lambda store, exe: store.save(exe),
    "commit with an event": lambda store, exe: store.commit(exe, [], processed_event_id="event"),
    "commit with everything": complex_commit,
    "is_processed": lambda store, exe: store.is_processed(exe.id, "event"),
    "list_executions": lambda store, exe: store.list_executions(status="PENDING", roots_only=True),
    "pending_outbox": lambda store, exe: store.pending_outbox(),
    "ack_outbox": lambda store, exe: store.ack_outbox(1),
    "pending_spawns": lambda store, exe: store.pending_spawns(),
    "ack_spawn": lambda store, exe: store.ack_spawn(1),
    "due_timers": lambda store, exe: store.due_timers(20.0),
    "delete_timer": lambda store, exe: store.delete_timer(exe.id, "waiting", 10.0),
    "append_trace": lambda store, exe: store.append_trace(exe.id, {"event": "Seen"}),
    "read_trace": lambda store, exe: store.read_trace(exe.id),
    "purge": lambda store, exe: store.purge("nothing", 1),
    "ids_with_prefix": lambda store, exe: store.ids_with_prefix(exe.id),
    "suspend": lambda store, exe: store.suspend(exe.id),
    "resume": lambda store, exe: store.resume(exe.id),
    "cancel": lambda store, exe: store.cancel("nothing"),
    "suspend_all": lambda store, exe: store.suspend_all(definition_id="orders", dry_run=True),
    "resume_all": lambda store, exe: store.resume_all(status="SUSPENDED"),
    "cancel_all": lambda store, exe: store.cancel_all(definition_id="nothing"),
}

LEASE = Lease("orders", 1, Event(kind="Go"), "5f0c5c1e-9d2f-4c36-8a35-0c8e1d7a2b11", 0.0, 1)


def finish(transport: PostgresTransport, exe: Execution) -> Any:
    transport.publish(exe.id, Event(kind="Go"))
    (delivery,) = transport.next("w", 30.0)
    return transport.finish(
        [
            Completion(
                delivery.lease,
                delivery.execution,
                [(None, Event(kind="Told")), ("other", Event(kind="Asked"))],
                [TimerOp("schedule", "waiting", 10.0)],
                [(f"child of {delivery.lease.seq}", "region", {"n": 1})],
                {"event": "Told"},
            )
        ]
    )


# Each with the round trips that it takes.
TRANSPORT_USES: dict[str, tuple[int, Callable[[PostgresTransport, Execution], Any]]] = {
    "publish": (1, lambda transport, exe: transport.publish(exe.id, Event(kind="Go"))),
    "publish_many": (1, lambda transport, exe: transport.publish_many([(str(n), Event(kind="Go")) for n in range(9)])),
    "send": (1, lambda transport, exe: transport.send(exe.id, Event(kind="Go"))),
    "claim": (1, lambda transport, exe: transport.claim("w", 30.0)),
    "claim_many": (1, lambda transport, exe: transport.claim_many("w", 30.0, 10)),
    "ack": (1, lambda transport, exe: transport.ack(LEASE)),
    "nack": (1, lambda transport, exe: transport.nack(LEASE, 1.0, "why")),
    "extend": (1, lambda transport, exe: transport.extend([LEASE, LEASE], 30.0)),
    "next": (1, lambda transport, exe: transport.next("w", 30.0, 10)),
    "next before a sleep": (1, lambda transport, exe: transport.next("w", 30.0, sleep=1.0)),
    "publish, next and finish with everything": (3, finish),
    "relay": (1, lambda transport, exe: transport.relay()),
    "relay_spawns": (1, lambda transport, exe: transport.relay_spawns()),
    "fire_timers": (1, lambda transport, exe: transport.fire_timers()),
    "tick": (1, lambda transport, exe: transport.tick()),
    "dead_letters": (1, lambda transport, exe: transport.dead_letters()),
    "redrive": (1, lambda transport, exe: transport.redrive()),
    "channel": (1, lambda transport, exe: transport.channel()),
}


@pytest.fixture
def proxy(store_dsn: str) -> Iterator[Proxy]:
    with Proxy(store_dsn) as proxy:
        yield proxy


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_call_is_one_round_trip_and_one_statement(proxy: Proxy, kind: str, use: Use) -> None:
    with opened(kind, proxy.dsn, **ONE_CONNECTION[kind]) as store:
        exe = Execution(definition_id="orders")
        store.commit(exe, [], trace={"event": "Started"})
        for _ in range(TIMES_BEFORE_PREPARED):
            use(store, exe)

        proxy.messages.clear()
        use(store, exe)

        assert proxy.round_trips == 1
        assert [kind for kind, _ in proxy.messages].count("E") == 1
        # The statement was prepared, so that no SQL is sent at all, neither BEGIN nor COMMIT.
        assert proxy.statements == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("round_trips", "use"), TRANSPORT_USES.values(), ids=TRANSPORT_USES)
def test_a_call_of_a_transport_is_one_round_trip_and_one_statement(
    proxy: Proxy, kind: str, round_trips: int, use: Callable[[PostgresTransport, Execution], Any]
) -> None:
    exe = Execution(definition_id="orders")
    with opened(kind, proxy.dsn) as store:
        store.save(exe)
    with opened_transport(kind, proxy.dsn, **ONE_CONNECTION[kind]) as transport:
        for _ in range(TIMES_BEFORE_PREPARED):
            use(transport, exe)

        proxy.messages.clear()
        use(transport, exe)

        assert proxy.round_trips == round_trips
        assert [kind for kind, _ in proxy.messages].count("E") == round_trips
        assert proxy.statements == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_calls_are_one_round_trip_too(proxy: Proxy, kind: str) -> None:
    with opened(kind, proxy.dsn, **ONE_CONNECTION[kind]) as store:
        exe = Execution(definition_id="orders")
        proxy.messages.clear()
        complex_commit(store, exe)
        store.save(exe)
        store.load(exe.id)
        assert proxy.round_trips == 3


@pytest.mark.parametrize("kind", KINDS)
def test_no_transaction_is_begun_or_ended(proxy: Proxy, kind: str) -> None:
    with opened(kind, proxy.dsn, **ONE_CONNECTION[kind]) as store:
        exe = Execution(definition_id="orders")
        for use in USES.values():
            use(store, exe)
    # SELECTs only, from the connection to its end.
    assert proxy.statements
    assert [sql for sql in proxy.statements if not sql.lstrip().startswith("SELECT ")] == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("use", "round_trips"),
    # The fast path is told no more than that it lost, and looks up the version; the other is told that too.
    [pytest.param(USES["save"], 2, id="save"), pytest.param(complex_commit, 1, id="commit with everything")],
)
def test_a_conflict_costs_no_more_than_to_learn_the_version_found(
    proxy: Proxy, kind: str, use: Use, round_trips: int
) -> None:
    with opened(kind, proxy.dsn, **ONE_CONNECTION[kind]) as store:
        exe = Execution(definition_id="orders")
        store.save(exe)
        stale = exe.model_copy()
        store.save(exe)
        for _ in range(TIMES_BEFORE_PREPARED):
            with pytest.raises(StoreConflict):
                use(store, stale)

        proxy.messages.clear()
        with pytest.raises(StoreConflict) as conflict:
            use(store, stale)

        assert proxy.round_trips == round_trips
        assert (conflict.value.expected, conflict.value.found) == (1, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_refused_by_the_client_sends_nothing(proxy: Proxy, kind: str) -> None:
    with opened(kind, proxy.dsn, **ONE_CONNECTION[kind]) as store:
        exe = Execution(definition_id="orders", context={"n": float("nan")})
        proxy.messages.clear()
        with pytest.raises(ValueError, match="must be JSON"):
            store.save(exe)
        assert proxy.messages == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_transport_refuses_the_execution_of_another_without_asking(proxy: Proxy, kind: str) -> None:
    with opened_transport(kind, proxy.dsn, **ONE_CONNECTION[kind]) as transport:
        proxy.messages.clear()
        with pytest.raises(InvalidArgument, match="ST001"):
            transport.finish([Completion(LEASE, Execution(id="another", definition_id="orders"))])
        assert proxy.messages == []
