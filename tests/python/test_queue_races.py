"""Many at once on one queue: nothing is lost, done twice or out of order; none deadlocks, or waits for strangers."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier, Event, Lock
from typing import Any

import psycopg
import pytest
from wire import DEADLINE, KINDS, LEAVE_FLOOR, Beside, opened, opened_transport, until

from cluster import SHARDS, arrive
from harel import (
    Completed,
    Completion,
    Delivery,
    Execution,
    Lease,
    PostgresStore,
    PostgresTransport,
    Status,
    StoreConflict,
    TimerOp,
)
from harel import Event as Message

Session = psycopg.Connection[Any]

PUBLISH = "SELECT harel_publish(%s, %s)"
GO = '{"id":"%s","kind":"Go"}'


@pytest.fixture
def beside(store_dsn: str) -> Iterator[Beside]:
    with Beside(store_dsn) as beside:
        yield beside


@pytest.fixture
def store(store_dsn: str) -> Iterator[PostgresStore]:
    with opened("sync", store_dsn) as store:
        yield store


@pytest.fixture
def transport(store_dsn: str) -> Iterator[PostgresTransport]:
    with opened_transport("sync", store_dsn) as transport:
        yield transport


@pytest.fixture
def second(store_dsn: str) -> Iterator[PostgresTransport]:
    with opened_transport("sync", store_dsn) as transport:
        yield transport


@pytest.fixture
def session(store_dsn: str) -> Iterator[Session]:
    """A session whose transactions a test ends."""
    with psycopg.connect(store_dsn) as session:
        yield session
        session.rollback()


def rows(dsn: str, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn, autocommit=True) as session:
        return session.execute(sql, parameters).fetchall()


def queued(dsn: str, group: str) -> list[str]:
    """The kinds of the messages of a group, first to last."""
    found = rows(dsn, "SELECT event::json ->> 'kind' FROM transport_messages WHERE group_id = %s ORDER BY seq", group)
    return [kind for (kind,) in found]


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """Runs each in a thread of its own, all from the same moment on."""
    start = Barrier(len(works))

    def begin(work: Callable[[], Any]) -> Any:
        start.wait(DEADLINE)
        return work()

    with ThreadPoolExecutor(len(works)) as threads:
        return list(threads.map(begin, works))


def made(store: PostgresStore, *ids: str, **fields: Any) -> list[Execution]:
    exes = [Execution(id=id, definition_id="d", **fields) for id in ids]
    for exe in exes:
        store.save(exe)
    return exes


def delivered(transport: PostgresTransport, *ids: str) -> list[Delivery]:
    """Messages for executions, published and claimed, in the order of the ids."""
    transport.publish_many([(id, Message(kind="Go")) for id in ids])
    found = {delivery.lease.group_id: delivery for delivery in transport.next("w", 60.0, len(ids))}
    return [found[id] for id in ids]


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_a_publish_waits_for_the_ack_that_drains_its_group(
    store_dsn: str, beside: Beside, transport: PostgresTransport, session: Session, ending: str
) -> None:
    transport.publish("g", Message(kind="first"))
    lease = transport.claim("w", 60.0)
    assert session.execute("SELECT harel_ack('g', %s)", (lease.token,)).fetchone() == (True,)
    publish = beside.blocked(transport.publish, "g", Message(kind="second"))
    getattr(session, ending)()
    publish.result(DEADLINE)
    assert queued(store_dsn, "g") == (["second"] if ending == "commit" else ["first", "second"])
    if ending == "commit":
        assert transport.claim("w", 60.0).event.kind == "second"
    else:
        assert transport.ack(lease) is True
        assert transport.claim("w", 60.0).event.kind == "second"


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_an_ack_waits_for_a_publish_to_its_group(
    store_dsn: str, beside: Beside, transport: PostgresTransport, session: Session, ending: str
) -> None:
    transport.publish("g", Message(kind="first"))
    lease = transport.claim("w", 60.0)
    session.execute(PUBLISH, ("g", '{"kind":"second"}'))
    ack = beside.blocked(transport.ack, lease)
    getattr(session, ending)()
    assert ack.result(DEADLINE) is True
    assert queued(store_dsn, "g") == (["second"] if ending == "commit" else [])
    assert (transport.claim("w", 60.0) is not None) is (ending == "commit")


def test_publishes_that_race_with_the_acks_that_drain_lose_nothing(store_dsn: str) -> None:
    publishers, each = 2, 150
    seen: list[tuple[int, int]] = []

    def publish(publisher: int) -> None:
        with opened_transport(KINDS[publisher], store_dsn) as transport:
            for n in range(each):
                transport.publish("g", Message(kind="Go", data={"by": publisher, "n": n}))

    def consume() -> None:
        with opened_transport("sync", store_dsn) as transport:

            def all_seen() -> bool:
                if lease := transport.claim("w", 60.0):
                    seen.append((lease.event.data["by"], lease.event.data["n"]))
                    assert transport.ack(lease) is True
                return len(seen) >= publishers * each

            until(all_seen)
            assert transport.claim("w", 60.0) is None

    at_once(consume, *(partial(publish, n) for n in range(publishers)))
    for publisher in range(publishers):
        assert [n for by, n in seen if by == publisher] == list(range(each))
    assert rows(store_dsn, "SELECT * FROM transport_groups") == []


def test_many_claimers_never_get_one_message_twice_nor_two_of_one_group(
    store_dsn: str, transport: PostgresTransport
) -> None:
    claimers, groups, each = 8, 30, 12
    for n in range(each):
        transport.publish_many([(f"g{group}", Message(kind=str(n))) for group in range(groups)])
    held: set[str] = set()
    seen: defaultdict[str, list[int]] = defaultdict(list)
    share: Counter[int] = Counter()
    lock = Lock()

    def claim(claimer: int) -> None:
        with opened_transport(KINDS[claimer % 2], store_dsn) as transport:
            while True:
                leases = transport.claim_many(f"w{claimer}", 60.0, 1 + claimer % 4)
                with lock:
                    for lease in leases:
                        assert lease.group_id not in held
                        assert lease.attempts == 1
                        held.add(lease.group_id)
                        seen[lease.group_id].append(int(lease.event.kind))
                    share[claimer] += len(leases)
                    done = sum(map(len, seen.values())) == groups * each
                for lease in leases:
                    # From the moment of the ack on it can be another's.
                    with lock:
                        held.remove(lease.group_id)
                    assert transport.ack(lease) is True
                if done:
                    return

    at_once(*(partial(claim, n) for n in range(claimers)))
    assert seen == {f"g{group}": list(range(each)) for group in range(groups)}
    assert rows(store_dsn, "SELECT * FROM transport_groups") == []
    assert len(share) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_after_the_deadline_a_second_has_the_message_and_the_first_can_do_nothing(
    store_dsn: str, store: PostgresStore, kind: str
) -> None:
    made(store, "x")
    with opened_transport(kind, store_dsn) as first, opened_transport(kind, store_dsn) as second:
        first.publish("x", Message(kind="Go"))
        (held,) = first.next("first", 0.2)
        (again,) = until(lambda: second.next("second", 60.0))
        assert (again.lease.seq, again.lease.attempts) == (held.lease.seq, 2)
        assert again.lease.deadline > held.lease.deadline

        assert first.ack(held.lease) is False
        assert first.nack(held.lease) is False
        assert first.extend([held.lease], 60.0) == {}
        completion = Completion(held.lease, held.execution, [("y", Message(kind="On"))])
        assert first.finish([completion]) == [Completed("expired", None, [])]
        assert rows(store_dsn, "SELECT version FROM executions") == [(1,)]
        assert queued(store_dsn, "y") == []
        assert second.finish([Completion(again.lease, again.execution)])[0].result == "finished"


def test_relays_at_once_keep_the_order_from_one_source_to_one_target(store_dsn: str, store: PostgresStore) -> None:
    relays, sources, targets, each = 8, 4, 3, 60
    made(store, *(f"s{n}" for n in range(sources)))
    emitted = Event()

    def emit(source: int) -> None:
        with opened("sync", store_dsn) as store:
            exe = store.load(f"s{source}")
            assert exe is not None
            for n in range(each):
                events = [(f"t{target}", Message(kind="Go", data={"by": source, "n": n})) for target in range(targets)]
                store.commit(exe, [*events, (None, Message(kind="Told"))])

    def emit_all() -> None:
        try:
            at_once(*(partial(emit, n) for n in range(sources)))
        finally:
            emitted.set()

    def relay(n: int) -> int:
        with opened_transport(KINDS[n % 2], store_dsn) as transport:
            moved = 0
            while True:
                last = emitted.is_set()
                moved += transport.relay(limit=7)
                if last and not rows(store_dsn, "SELECT FROM outbox WHERE target_id IS NOT NULL LIMIT 1"):
                    return moved

    moved = at_once(emit_all, *(partial(relay, n) for n in range(relays)))[1:]
    assert sum(moved) == sources * targets * each
    for target in range(targets):
        found = rows(
            store_dsn,
            "SELECT event::json -> 'data' FROM transport_messages WHERE group_id = %s ORDER BY seq",
            f"t{target}",
        )
        for source in range(sources):
            assert [data["n"] for (data,) in found if data["by"] == source] == list(range(each))
    # The broadcasts are still there.
    assert len(store.pending_outbox()) == sources * each


def test_deliveries_at_once_share_no_row(store_dsn: str, store: PostgresStore) -> None:
    (exe,) = made(store, "x")
    seqs = [seq for n in range(20) for seq in store.commit(exe, [("t", Message(kind=str(n))) for _ in range(10)])]
    delivered: list[int] = []

    def deliver(n: int) -> None:
        with opened("sync", store_dsn) as store:
            while store.pending_outbox(1):
                store.deliver_outbox(lambda entries: delivered.extend(entry.seq for entry in entries), 5 + n)

    at_once(*(partial(deliver, n) for n in range(8)))
    assert sorted(delivered) == seqs


def test_sweepers_at_once_fire_each_timer_once(store_dsn: str, store: PostgresStore) -> None:
    sweepers, executions, paths = 8, 40, 10
    for exe in made(store, *(f"x{n}" for n in range(executions))):
        store.commit(exe, [], timers=[TimerOp("schedule", f"/{n}", 1.0 + n) for n in range(paths)])

    def sweep(n: int) -> int:
        fired = 0
        with opened_transport(KINDS[n % 2], store_dsn) as transport:
            while rows(store_dsn, "SELECT FROM timers LIMIT 1"):
                fired += transport.fire_timers(limit=7)
        return fired

    fired = at_once(*(partial(sweep, n) for n in range(sweepers)))
    assert sum(fired) == executions * paths
    found = rows(store_dsn, "SELECT group_id, event::json FROM transport_messages ORDER BY group_id, seq")
    assert len({event["id"] for _, event in found}) == len(found)
    expected = [(f"x{n}", f"/{path}") for n in range(executions) for path in range(paths)]
    assert sorted((group, event["data"]["path"]) for group, event in found) == sorted(expected)


def test_finishes_that_emit_to_each_other_do_not_deadlock(store_dsn: str, store: PostgresStore) -> None:
    rounds, ids = 60, ("a", "b", "c")
    made(store, *ids)
    start = Barrier(len(ids))

    def work(mine: str) -> list[str]:
        results = []
        with opened_transport("sync", store_dsn) as transport:
            for _ in range(rounds):
                start.wait(DEADLINE)
                transport.publish(mine, Message(kind="Go"))
                # Everyone has one message at a time in hand, and sends to all, itself included.
                start.wait(DEADLINE)
                (delivery,) = transport.next(mine, 60.0)
                start.wait(DEADLINE)
                emits = [(id, Message(kind="Hello")) for id in (*reversed(ids), "new")]
                results += [
                    done.result for done in transport.finish([Completion(delivery.lease, delivery.execution, emits)])
                ]
        return results

    assert at_once(*(partial(work, id) for id in ids)) == [["finished"] * rounds] * len(ids)
    with opened_transport("sync", store_dsn) as transport:
        arrive(transport)
    # Each round brought every one of them three messages and took one of those sent before.
    assert [len(queued(store_dsn, id)) for id in ids] == [rounds * (1 + len(ids)) - rounds] * len(ids)
    # Those for nobody are dead letters once claimed.
    with opened_transport("sync", store_dsn) as transport:
        assert len(queued(store_dsn, "new")) + len(transport.dead_letters("new")) == rounds * len(ids)


OTHERS: dict[str, Callable[[PostgresTransport], Any]] = {
    "publish_many": lambda transport: transport.publish_many([(id, Message(kind="Go")) for id in ("c", "d")]),
    "redrive": lambda transport: transport.redrive(),
}


@pytest.mark.one_server("what is sent stays in the outbox, and its group is not locked, until the relay moves it")
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_finish_and_another_that_publishes_to_the_same_groups_do_not_deadlock(
    store_dsn: str, beside: Beside, store: PostgresStore, transport: PostgresTransport, session: Session, other: Any
) -> None:
    made(store, "a", "c", "d")
    with opened_transport("sync", store_dsn, max_attempts=1) as strict:
        strict.publish_many([("c", Message(kind="Dead")), ("d", Message(kind="Dead"))])
        for lease in strict.claim_many("w", 60.0, 2):
            strict.nack(lease)
    (delivery,) = delivered(transport, "a")
    # Of the two groups there is one, which the finish locks before it makes the other.
    transport.publish("d", Message(kind="Here"))
    store.commit(delivery.execution, [], timers=[TimerOp("schedule", "/p", 1.0)])
    session.execute("SELECT FROM timers WHERE execution_id = 'a' FOR UPDATE")
    emits = [("c", Message(kind="On")), ("d", Message(kind="On"))]
    with opened_transport("sync", store_dsn) as second:
        finish = beside.blocked(
            second.finish, [Completion(delivery.lease, delivery.execution, emits, [TimerOp("cancel", "/p")])]
        )
        call = beside.blocked(other, transport)
        session.rollback()
        assert finish.result(DEADLINE)[0].result == "finished"
        call.result(DEADLINE)
    assert queued(store_dsn, "c").count("On") == queued(store_dsn, "d").count("On") == 1


def test_finishes_sweeps_and_commits_of_timers_do_not_deadlock(store_dsn: str, store: PostgresStore) -> None:
    ids = [f"x{n}" for n in range(6)]
    made(store, *ids)
    rounds = 40
    done = Event()
    handled: Counter[str] = Counter()

    def timers(n: int) -> list[TimerOp]:
        action = "schedule" if n % 3 else "cancel"
        return [TimerOp(action, f"/{path}", float(n)) for path in ("b", "a") if (n + ord(path)) % 2]

    def finish(worker: int) -> None:
        with opened_transport("sync", store_dsn) as transport:
            while not done.is_set():
                deliveries = transport.next(f"w{worker}", 60.0, 4)
                completions = []
                for delivery in deliveries:
                    n = delivery.lease.seq
                    emits = [] if n % 5 else [(ids[n % len(ids)], Message(kind="Hello"))]
                    completions.append(Completion(delivery.lease, delivery.execution, emits, timers(n)))
                handled.update(completed.result for completed in transport.finish(completions))
                # Those in conflict come again.
                for delivery in deliveries:
                    transport.nack(delivery.lease)

    def commit(worker: int) -> None:
        with opened("sync", store_dsn) as store:
            for n in range(rounds):
                exe = store.load(ids[(n + worker) % len(ids)])
                try:
                    store.commit(exe, [], timers=[*timers(n), TimerOp("schedule", "/a", 1.0)])
                except StoreConflict:
                    handled["lost"] += 1

    def publish() -> None:
        with opened_transport("sync", store_dsn) as transport:
            for n in range(rounds):
                transport.publish_many([(id, Message(kind="Go")) for id in ids[:: 1 if n % 2 else -1]])

    def sweep(worker: int) -> None:
        with opened_transport("sync", store_dsn) as transport:
            while not done.is_set():
                transport.tick() if worker else transport.fire_timers()

    def load() -> None:
        try:
            at_once(partial(commit, 0), partial(commit, 1), publish)
            until(lambda: handled["finished"])
        finally:
            done.set()

    # A deadlock is an error in one of them.
    at_once(load, *(partial(finish, n) for n in range(3)), *(partial(sweep, n) for n in range(2)))
    assert handled["finished"] > 0


@pytest.mark.parametrize("group", ["old", "new"])
def test_a_transaction_that_published_and_stays_open_stops_nothing_of_other_groups(
    store_dsn: str, store: PostgresStore, transport: PostgresTransport, session: Session, group: str
) -> None:
    session.execute("SET idle_in_transaction_session_timeout = 60000")
    source, *_ = made(store, "source", "old", "new", "other")
    transport.publish("old", Message(kind="Here"))
    store.commit(source, [(id, Message(kind="Relayed")) for id in ("old", "new", "other")])
    for id in ("old", "new", "other"):
        exe = store.load(id)
        assert exe is not None
        store.commit(exe, [], timers=[TimerOp("schedule", "/p", 1.0)])
    # More of it than one relay takes does not hide what is behind it.
    store.commit(source, [(group, Message(kind="Relayed")) for _ in range(3)])
    store.commit(source, [("other", Message(kind="Last"))])
    session.execute(PUBLISH, (group, GO % "mine"))

    # What is for the group of the transaction waits for it, and nothing else does.
    relayed = 0
    while moved := transport.relay(limit=2):
        relayed += moved
    assert (relayed, transport.fire_timers()) == (3, 2)
    assert transport.tick().next_at is not None
    assert queued(store_dsn, "other") == ["Relayed", "Last", "Timeout"]
    claimed = {lease.group_id for lease in transport.claim_many("w", 60.0, 10)}
    assert claimed == {"old", "new", "other"} - {group}

    session.commit()
    done = transport.tick()
    assert (done.relayed, done.fired) == (4, 1)
    assert queued(store_dsn, group)[-6:] == ["Go", *["Relayed"] * 4, "Timeout"]


@pytest.mark.one_server("the floor of claims is of one server")
@pytest.mark.parametrize("priority", [0, 3])
def test_a_publish_that_commits_below_the_floor_is_found(
    store_dsn: str, transport: PostgresTransport, session: Session, priority: int
) -> None:
    session.execute("SELECT harel_publish('late', %s, %s)", (GO % "late", priority))
    # Meanwhile the floor went past it, and groups below it are not looked for yet.
    rows(
        store_dsn,
        """
        SELECT
            setval('transport_floor', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint),
            setval('transport_lift_at', ((extract(epoch FROM clock_timestamp()) + 3600) * 1000000)::bigint)
        """,
    )
    session.commit()
    assert transport.claim("w", 60.0, priority) is None
    rows(store_dsn, "SELECT setval('transport_lift_at', 0)")
    assert until(lambda: transport.claim("w", 60.0, priority)).group_id == "late"


@pytest.mark.one_server("the floor of claims is of one server")
def test_the_floor_follows_and_loses_nothing_while_a_transaction_is_open(
    store_dsn: str, transport: PostgresTransport, session: Session
) -> None:
    session.execute(PUBLISH, ("late", GO % "late"))
    published = "SELECT extract(epoch FROM now())::float8"
    (began,) = session.execute(published).fetchone()
    n = 0

    def passed() -> bool:
        nonlocal n
        n += 1
        transport.publish(f"g{n}", Message(kind="Go"))
        assert transport.ack(transport.claim("w", 60.0)) is True
        return rows(store_dsn, "SELECT last_value / 1e6 FROM transport_floor")[0][0] > began

    until(passed)
    assert transport.claim("w", 60.0) is None
    session.commit()
    # Below the floor is looked the less often, the longer that takes.
    rows(store_dsn, "SELECT setval('transport_lift_at', 0)")
    assert until(lambda: transport.claim("w", 60.0)).group_id == "late"


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_a_finish_waits_for_the_purge_of_its_execution(
    store_dsn: str, beside: Beside, store: PostgresStore, transport: PostgresTransport, session: Session, ending: str
) -> None:
    made(store, "x")
    (delivery,) = delivered(transport, "x")
    completion = Completion(
        delivery.lease,
        delivery.execution,
        [("x", Message(kind="On")), (None, Message(kind="Told"))],
        [TimerOp("schedule", "/p", 1.0)],
        [("child", "/r", {})],
        {"n": 1},
    )
    assert session.execute("SELECT harel_purge('x', 1)").fetchone() == (True,)
    finish = beside.blocked(transport.finish, [completion])
    getattr(session, ending)()
    if ending == "rollback":
        assert finish.result(DEADLINE)[0].result == "finished"
        return
    assert finish.result(DEADLINE) == [Completed("expired", None, [])]
    for table in ("executions", "outbox", "processed_events", "timers", "trace", "spawns", "transport_messages"):
        assert rows(store_dsn, f"SELECT FROM {table}") == []


def test_a_purge_waits_for_the_finish_and_leaves_what_has_moved_on(
    store_dsn: str, beside: Beside, store: PostgresStore, transport: PostgresTransport, session: Session
) -> None:
    made(store, "x")
    (delivery,) = delivered(transport, "x")
    own = PostgresTransport(session)
    session.execute("SELECT")
    assert own.finish([Completion(delivery.lease, delivery.execution)])[0].result == "finished"
    purge = beside.blocked(store.purge, "x", 1)
    session.commit()
    assert purge.result(DEADLINE) is False
    assert store.load("x") == delivery.execution
    assert store.purge("x", 2) is True


CONTROLS = {"suspend": Status.SUSPENDED, "cancel": Status.CANCELLED}


@pytest.mark.parametrize("ending", ["commit", "rollback"])
@pytest.mark.parametrize("control", CONTROLS)
def test_a_step_in_progress_is_lost_to_one_who_suspends_or_cancels(
    beside: Beside, store: PostgresStore, transport: PostgresTransport, session: Session, control: str, ending: str
) -> None:
    made(store, "x", status=Status.RUNNING)
    (delivery,) = delivered(transport, "x")
    delivery.execution.context["stepped"] = True
    assert session.execute(f"SELECT harel_{control}('x')").fetchone() == (True,)
    finish = beside.blocked(transport.finish, [Completion(delivery.lease, delivery.execution, trace={"n": 1})])
    getattr(session, ending)()
    result = finish.result(DEADLINE)[0].result
    exe = store.load("x")
    if ending == "rollback":
        assert (result, exe.status, exe.context) == ("finished", Status.RUNNING, {"stepped": True})
        return
    assert (result, exe.status, exe.context) == ("expired", CONTROLS[control], {})
    assert store.read_trace("x") == []
    if control == "suspend":
        assert transport.next("w", 60.0) == []
        assert store.resume("x") is True
        assert transport.next("w", 60.0)[0].lease.event == delivery.lease.event
    else:
        assert len(transport.dead_letters("x")) == 1


@pytest.mark.parametrize("control", CONTROLS)
def test_one_who_suspends_or_cancels_waits_for_the_step_and_keeps_it(
    beside: Beside, store: PostgresStore, transport: PostgresTransport, session: Session, control: str
) -> None:
    made(store, "x", status=Status.RUNNING)
    transport.publish("x", Message(kind="Go"))
    (delivery,) = transport.next("w", 60.0)
    transport.publish("x", Message(kind="Left"))
    delivery.execution.context["stepped"] = True
    own = PostgresTransport(session)
    session.execute("SELECT")
    own.finish([Completion(delivery.lease, delivery.execution, trace={"n": 1})])
    call = beside.blocked(getattr(store, control), "x")
    session.commit()
    assert call.result(DEADLINE) is True
    exe = store.load("x")
    assert (exe.status, exe.context, exe.version) == (CONTROLS[control], {"stepped": True}, 3)
    assert len(store.read_trace("x")) == 1
    assert transport.next("w", 60.0) == []
    assert [letter.event.count("Left") for letter in transport.dead_letters()] == [1] * (control == "cancel")


def test_suspending_and_resuming_under_load_loses_and_repeats_no_event(store_dsn: str, store: PostgresStore) -> None:
    ids, each = ["a", "b"], 25
    made(store, *ids, status=Status.RUNNING)
    done = Event()

    def work() -> None:
        try:
            # Each time that a step is lost counts as a delivery.
            with opened_transport("sync", store_dsn, max_attempts=None) as transport:
                for n in range(each):
                    transport.publish_many([(id, Message(kind=str(n))) for id in ids])

                def all_done() -> bool:
                    for delivery in transport.next("w", 60.0, 10):
                        exe = delivery.execution
                        exe.context.setdefault("seen", []).append(delivery.lease.event.kind)
                        (completed,) = transport.finish([Completion(delivery.lease, exe)])
                        assert completed.result in ("finished", "expired")
                    return not rows(store_dsn, "SELECT FROM transport_messages")

                until(all_done)
        finally:
            done.set()

    def control() -> None:
        # On several nodes each takes longer.
        pause = 0.2 if SHARDS else 0.0
        with opened("sync", store_dsn) as store:
            # A step may take longer than the time between the two, and there is always one that does not.
            while not done.wait(pause):
                store.suspend_all()
                store.resume_all()
                pause += 0.001

    at_once(work, control)
    for id in ids:
        assert store.load(id).context["seen"] == [str(n) for n in range(each)]
        assert store.load(id).status == Status.RUNNING


def wake_by_publish(store: PostgresStore, transport: PostgresTransport, held: Lease) -> None:
    transport.publish("g", Message(kind="Go"))


def wake_by_publish_many(store: PostgresStore, transport: PostgresTransport, held: Lease) -> None:
    transport.publish_many([("g", Message(kind="Go"))])


def wake_by_nack(store: PostgresStore, transport: PostgresTransport, held: Lease) -> None:
    assert transport.nack(held) is True


def wake_by_ack(store: PostgresStore, transport: PostgresTransport, held: Lease) -> None:
    assert transport.ack(held) is True


def wake_by_relay(store: PostgresStore, transport: PostgresTransport, held: Lease) -> None:
    store.commit(Execution(definition_id="d"), [("g", Message(kind="Go"))])
    assert transport.relay() == 1


def wake_by_spawn(store: PostgresStore, transport: PostgresTransport, held: Lease) -> None:
    store.commit(Execution(definition_id="d"), [], spawns=[("c", "/r", {})])
    assert transport.relay_spawns() == 1


def wake_by_timer(store: PostgresStore, transport: PostgresTransport, held: Lease) -> None:
    store.commit(Execution(definition_id="d"), [], timers=[TimerOp("schedule", "/p", 1.0)])
    assert transport.fire_timers() == 1


def wake_by_finish(store: PostgresStore, transport: PostgresTransport, held: Lease) -> None:
    assert transport.finish([Completion(held, Execution(id="held", definition_id="d"))])[0].result == "finished"


def wake_by_emit(store: PostgresStore, transport: PostgresTransport, held: Lease) -> None:
    completion = Completion(held, Execution(id="held", definition_id="d"), [("g", Message(kind="On"))])
    assert transport.finish([completion])[0].result == "finished"


def wake_by_resume(store: PostgresStore, transport: PostgresTransport, held: Lease) -> None:
    assert store.resume("x") is True


def wake_by_redrive(store: PostgresStore, transport: PostgresTransport, held: Lease) -> None:
    assert transport.redrive("gone") == 1


WAKES = {name.removeprefix("wake_by_"): wake for name, wake in globals().items() if name.startswith("wake_by_")}


@pytest.mark.parametrize("asleep", [True, False])
@pytest.mark.parametrize("wake", WAKES.values(), ids=WAKES)
def test_a_notification_comes_only_while_somebody_sleeps(
    store_dsn: str, store: PostgresStore, transport: PostgresTransport, wake: Any, asleep: bool
) -> None:
    if SHARDS and asleep and wake in (wake_by_publish, wake_by_nack, wake_by_ack, wake_by_finish, wake_by_emit):
        pytest.skip("what is done on the node of the message is heard there")
    channel = transport.channel()
    made(store, "x")
    store.suspend("x")
    transport.publish("x", Message(kind="Go"))
    transport.publish("gone", Message(kind="Go"))
    assert transport.next("w", 60.0, 10) == []
    # What another worker has in its hands while this one goes to sleep.
    transport.publish_many([("held", Message(kind="1")), ("held", Message(kind="2"))])
    held = transport.claim("other", 60.0)
    with psycopg.connect(store_dsn, autocommit=True) as listener:
        listener.execute(f"LISTEN {channel}")
        assert transport.next("w", 60.0, sleep=60.0 if asleep else None) == []
        wake(store, transport, held)
        rows(store_dsn, "SELECT pg_notify(%s, 'the end')", channel)
        heard = []
        for notification in listener.notifies(timeout=DEADLINE):
            heard.append(notification.payload)
            if heard[-1] == "the end":
                break
    assert heard == ([""] if asleep else []) + ["the end"]


def test_a_sleep_that_is_over_is_no_reason_to_notify(store_dsn: str, transport: PostgresTransport) -> None:
    assert transport.next("w", 60.0, sleep=0.0) == []
    with psycopg.connect(store_dsn, autocommit=True) as listener:
        listener.execute(f"LISTEN {transport.channel()}")
        transport.publish("g", Message(kind="Go"))
        rows(store_dsn, "SELECT pg_notify(%s, 'the end')", transport.channel())
        assert next(listener.notifies(timeout=DEADLINE)).payload == "the end"


def test_a_shorter_sleep_does_not_end_a_longer_one(store_dsn: str, transport: PostgresTransport) -> None:
    for sleep in (60.0, 0.0):
        assert transport.next("w", 60.0, sleep=sleep) == []
    with psycopg.connect(store_dsn, autocommit=True) as listener:
        listener.execute(f"LISTEN {transport.channel()}")
        transport.publish_many([("g", Message(kind="Go"))])
        assert next(listener.notifies(timeout=DEADLINE)).payload == ""


def test_a_message_published_before_the_announcement_and_committed_after_it_is_there_at_the_next_look(
    store_dsn: str, store: PostgresStore, transport: PostgresTransport, session: Session
) -> None:
    made(store, "x")
    session.execute(PUBLISH, ("x", GO % "mine"))
    rows(store_dsn, LEAVE_FLOOR)
    assert transport.next("w", 60.0, sleep=60.0) == []
    session.commit()
    assert len(transport.next("w", 60.0)) == 1
