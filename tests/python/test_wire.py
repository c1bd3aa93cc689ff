"""Each call of a client is one round trip, counted between it and the server."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from wire import KINDS, Proxy, opened

from harel import Event, Execution, ExecutionStore, StoreConflict, TimerOp

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
