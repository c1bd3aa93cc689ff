"""A store over several databases: who owns what, who may start, and what is moved between them."""

import random
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import ExitStack, suppress
from threading import Barrier, Thread
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from test_worker import Running
from wire import Beside, until

from cluster import execute as rows
from harel import (
    Event,
    Execution,
    InvalidArgument,
    PostgresStore,
    ShardedStore,
    ShardsDisagree,
    Status,
    Step,
    StoreNotInstalled,
    TimerOp,
)
from harel.engine.store._rendezvous import ShardMap


def of_all(dsns: list[str], query: Any) -> list[tuple[Any, ...]]:
    return [row for dsn in dsns for row in rows(dsn, query)]


def maps(dsns: list[str]) -> list[list[tuple[Any, ...]]]:
    return [rows(dsn, "SELECT * FROM harel_shards()") for dsn in dsns]


@pytest.fixture
def dsns(shard_dsns: list[str]) -> list[str]:
    """Of three databases."""
    return shard_dsns[:3]


@pytest.fixture
def store(twin: Any, dsns: list[str]) -> Any:
    return twin.sharded(dsns)


def on_each(store: Any, count: int = 1) -> list[list[str]]:
    """For each shard ids that it owns."""
    found: dict[str, list[str]] = {name: [] for name in store.shards}
    n = 0
    while any(len(ids) < count for ids in found.values()):
        ids = found[store.shard_of(f"exe-{n}")]
        if len(ids) < count:
            ids.append(f"exe-{n}")
        n += 1
    return list(found.values())


# The hash.


def ids(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    alphabet = "abcdefghijklmnopqrstuvwxyz0123456789-/ é雪🦉\x01"
    return ["".join(draw.choices(alphabet, k=draw.randint(1, 40))) for _ in range(count)]


def test_sql_and_python_agree_who_owns_an_execution(store_dsn: str) -> None:
    names = ["north", "south", "östlich", "西", "a b", "x" * 1000]
    with psycopg.connect(store_dsn, autocommit=True) as session:
        session.execute("SELECT harel_join_shards(%s, 'north')", [names])
        some = ids(2000, 1)
        found = [
            row[0]
            for row in session.execute(
                "SELECT harel_shard_of(i.id) FROM unnest(%s::text[]) WITH ORDINALITY AS i (id, n) ORDER BY n", [some]
            )
        ]
    of = ShardMap(names)
    assert found == [of.names[of.position(id)] for id in some]
    assert len(set(found)) == len(names)


@pytest.mark.parametrize("count", [2, 3, 16])
@pytest.mark.parametrize("seed", range(3))
def test_shards_own_equal_parts(count: int, seed: int) -> None:
    draw = random.Random(seed)
    of = ShardMap(f"{draw.getrandbits(128):032x}" for _ in range(count))
    owned = Counter(of.position(f"{draw.getrandbits(128):032x}") for _ in range(20_000))
    share = 20_000 / count
    # Six standard deviations.
    assert all(abs(owned[position] - share) < 6 * share**0.5 for position in range(count))


@pytest.mark.parametrize("count", [2, 3, 16])
def test_one_more_shard_takes_its_part_from_each_and_moves_nothing_else(count: int) -> None:
    draw = random.Random(count)
    names = [f"{draw.getrandbits(128):032x}" for _ in range(count + 1)]
    before, after = ShardMap(names[:-1]), ShardMap(names)
    some = [f"{draw.getrandbits(128):032x}" for _ in range(20_000)]
    moved = [
        (before.names[before.position(id)], after.names[after.position(id)])
        for id in some
        if before.names[before.position(id)] != after.names[after.position(id)]
    ]
    assert {new for _, new in moved} == {names[-1]}
    assert {old for old, _ in moved} == set(names[:-1])
    assert abs(len(moved) - 20_000 / (count + 1)) < 6 * (20_000 / (count + 1)) ** 0.5


def test_numbers_name_one_row_of_one_shard() -> None:
    of = ShardMap(["b", "a", "c"])
    numbers = {of.number(position, seq) for position in range(3) for seq in range(1, 100)}
    assert len(numbers) == 3 * 99
    assert [of.parted(of.number(position, 7)) for position in range(3)] == [(0, 7), (1, 7), (2, 7)]


# Who may start.


def test_clients_agree_in_whatever_order_they_name_the_shards(twin: Any, dsns: list[str]) -> None:
    first = twin.sharded(dsns)
    second = twin.sharded(dsns[::-1])
    third = twin.sharded(
        dict(
            zip(
                first.shards,
                sorted(
                    dsns,
                    key=lambda d: (
                        maps([d])[0].index((d, True))
                        if (d, True) in maps([d])[0]
                        else [here for _, here in maps([d])[0]].index(True)
                    ),
                ),
                strict=True,
            )
        )
    )
    assert first.shards == second.shards == third.shards
    assert len(set(first.shards)) == 3
    for exe in [Execution(id=id, definition_id="d") for id in ids(20, 2)]:
        first.save(exe)
        assert second.load(exe.id) == third.load(exe.id) == exe


def test_names_can_be_given(twin: Any, dsns: list[str]) -> None:
    named = dict(zip(["one", "two", "three"], dsns, strict=True))
    assert twin.sharded(named).shards == ["one", "three", "two"]
    assert twin.sharded(dsns).shards == ["one", "three", "two"]
    assert [[name for name, here in found if here] for found in maps(dsns)] == [["one"], ["two"], ["three"]]
    with pytest.raises(ShardsDisagree, match="'two', 'one', 'three' here, and themselves 'one', 'two', 'three'"):
        twin.sharded(dict(zip(["two", "one", "three"], dsns, strict=True)))


@pytest.mark.parametrize(
    "others",
    [(0, 1, 2, 3), (0, 1), (0, 1, 3), (3, 1, 2), (0, 3), (0,), (0, 1, 1), (0, 0, 1, 2)],
    ids=lambda others: "".join(map(str, others)),
)
def test_a_client_that_names_other_shards_is_refused_and_changes_nothing(
    twin: Any, shard_dsns: list[str], others: tuple[int, ...]
) -> None:
    first = twin.sharded(shard_dsns[:3])
    twin.store(shard_dsns[3])
    before = maps(shard_dsns)
    with pytest.raises(ShardsDisagree) as caught:
        twin.sharded([shard_dsns[n] for n in others])
    assert caught.value.code == "ST016"
    assert caught.value.hint
    assert maps(shard_dsns) == before
    assert before[3] == []
    assert twin.sharded(shard_dsns[:3]).shards == first.shards


def test_one_database_by_two_dsns_is_refused_from_the_first_client_on(twin: Any, dsns: list[str]) -> None:
    for shards in (
        [dsns[0], dsns[1], f"{dsns[0]} application_name=another"],
        {"a": dsns[0], "b": dsns[1], "c": f"{dsns[0]} application_name=another"},
    ):
        with pytest.raises(ShardsDisagree, match="the same database"):
            twin.sharded(shards)
    assert maps(dsns[:2]) == [[], []]
    assert twin.sharded(dsns[:2]).shards == sorted(twin.sharded(dsns[:2]).shards)


@pytest.mark.parametrize("joined", [0, 1, 2])
def test_what_a_client_left_half_done_the_next_one_completes(twin: Any, dsns: list[str], joined: int) -> None:
    """It died between two databases: all have names, and some of them the map."""
    names = [twin.store(dsn)._connection and rows(dsn, "SELECT harel_name_shard()")[0][0] for dsn in dsns]
    order = sorted(range(3), key=lambda n: names[n])
    for n in order[:joined]:
        rows(dsns[n], "SELECT harel_join_shards(%s, %s)", names, names[n])
    assert twin.sharded(dsns).shards == sorted(names)
    assert [len(found) for found in maps(dsns)] == [3, 3, 3]


def test_clients_that_start_at_once_agree_or_one_is_refused(shard_dsns: list[str]) -> None:
    """Of two lists with databases in common one wins, in all of its databases."""
    for dsn in shard_dsns:
        PostgresStore.from_dsn(dsn).close()
    lists = [shard_dsns[:3], shard_dsns[:3][::-1], shard_dsns, shard_dsns[:3]]
    started = Barrier(len(lists))
    outcomes: list[Any] = [None] * len(lists)

    def start(n: int) -> None:
        started.wait()
        try:
            store = ShardedStore(lists[n])
        except ShardsDisagree:
            outcomes[n] = "refused"
        else:
            outcomes[n] = store.shards
            store.close()

    threads = [Thread(target=start, args=(n,)) for n in range(len(lists))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    of_three, of_four = [outcomes[0], outcomes[1], outcomes[3]], outcomes[2]
    if of_four == "refused":
        assert of_three[0] == of_three[1] == of_three[2]
        assert [len(found) for found in maps(shard_dsns)] == [3, 3, 3, 0]
    else:
        assert of_three == ["refused"] * 3
        assert [len(found) for found in maps(shard_dsns)] == [4, 4, 4, 4]


def test_a_store_with_executions_of_other_shards_is_refused(twin: Any, dsns: list[str]) -> None:
    alone = twin.store(dsns[0])
    for id in ids(20, 3):
        alone.save(Execution(id=id, definition_id="d"))
    with pytest.raises(ShardsDisagree, match="is in this store and would belong to"):
        twin.sharded(dsns)
    assert maps(dsns) == [[], [], []]
    assert len(alone.list_executions().items) == 20


def test_the_options_are_those_of_a_store(twin: Any, dsns: list[str]) -> None:
    with pytest.raises(StoreNotInstalled):
        twin.sharded(dsns, create_schema=False)
    store = twin.sharded(dsns, schema="elsewhere", trace_max=2)
    exe = Execution(id="e", definition_id="d")
    for n in range(4):
        store.commit(exe, [], trace={"n": n})
    assert [entry["n"] for entry in store.read_trace("e")] == [2, 3]
    store.trace_max = 1
    store.append_trace("e", {"n": 4})
    assert (store.trace_max, [entry["n"] for entry in store.read_trace("e")]) == (1, [4])
    with pytest.raises(TypeError, match="not one"):
        twin.sharded(dsns[0])
    with pytest.raises(ValueError, match="a shard at least"):
        twin.sharded([])


# The methods.


def test_what_concerns_one_execution_is_done_where_it_belongs(store: Any, dsns: list[str]) -> None:
    for owned, dsn in zip(
        on_each(store), sorted(dsns, key=lambda d: next(n for n, h in maps([d])[0] if h)), strict=True
    ):
        (id,) = owned
        exe = Execution(id=id, definition_id="d")
        store.save(exe)
        seqs = store.commit(
            exe, [(None, Event(kind="a"))], "ev", [TimerOp("schedule", "/p", 5.0)], [(f"{id}-c", "/r", {})], {"n": 1}
        )
        assert store.load(id) == exe
        assert store.load_for_event(id, "ev") == (exe, True)
        assert store.is_processed(id, "ev")
        assert [entry["n"] for entry in store.read_trace(id)] == [1]
        assert rows(dsn, "SELECT id FROM executions") == [(id,)]
        assert [entry.seq for entry in store.pending_outbox() if entry.source_id == id] == seqs
        assert store.delete_timer(id, "/p", 5.0)
        assert not store.purge(id, 1)
        assert store.purge(id, 2)
    assert store.load("nobody") is None


def test_listings_merge_the_shards_in_pages_of_any_size(store: Any) -> None:
    exes = [Execution(id=id, definition_id="d") for id in sorted(set(ids(60, 4)), key=str.encode)]
    for n, exe in enumerate(exes):
        exe.status = Status.DONE if n % 3 == 0 else Status.RUNNING
        store.save(exe)
    for status in (None, iter([Status.RUNNING, "PENDING"])):
        wanted = [exe.id for exe in exes if status is None or exe.status is Status.RUNNING]
        for limit in (1, 7, len(wanted), 100):
            status = None if status is None else [Status.RUNNING]
            found, cursor = [], None
            while True:
                page = store.list_executions(status=status, limit=limit, cursor=cursor)
                found += [item.id for item in page.items]
                cursor = page.next_cursor
                assert len(page.items) == limit or cursor is None
                if cursor is None:
                    break
            assert found == wanted
    assert store.ids_with_prefix(exes[5].id) == [exe.id for exe in exes if exe.id.startswith(exes[5].id)]
    with pytest.raises(InvalidArgument, match="ST008"):
        store.list_executions(limit=0)
    with pytest.raises(InvalidArgument, match="ST007"):
        store.list_executions(cursor="x")


def test_what_waits_is_seen_of_all_shards_and_settled_by_its_number(store: Any) -> None:
    owners = [owned[0] for owned in on_each(store)]
    for n, id in enumerate(owners):
        timers = [TimerOp("schedule", "/a", 10.0 - n), TimerOp("schedule", "/b", 20.0 + n)]
        exe = Execution(id=id, definition_id="d")
        store.commit(exe, [(None, Event(id=f"{id}-1", kind="a")), (None, Event(id=f"{id}-2", kind="b"))], None, timers)
        store.commit(exe, [], None, [], [(f"{id}-child", "/r", {"n": n})])
    assert store.due_timers(15.0) == [(id, "/a", 10.0 - n) for n, id in reversed(list(enumerate(owners)))]
    assert [path for _, path, _ in store.due_timers(30.0, 4)] == ["/a", "/a", "/a", "/b"]
    entries = store.pending_outbox()
    assert [entry.event.id for entry in entries] == [f"{id}-{n}" for n in (1, 2) for id in owners]
    assert [entry.event.id for entry in store.pending_outbox(4)] == [entry.event.id for entry in entries[:4]]
    assert [store.ack_outbox(entry.seq) for entry in entries[:2]] == [True, True]
    assert not store.ack_outbox(entries[0].seq)
    assert store.pending_outbox() == entries[2:]
    spawns = store.pending_spawns()
    assert [spawn.child_id for spawn in spawns] == [f"{id}-child" for id in owners]
    assert [store.ack_spawn(spawn.seq) for spawn in spawns] == [True] * 3
    assert store.pending_spawns() == []
    with pytest.raises(InvalidArgument, match="ST001"):
        store.ack_outbox(None)


def test_deliveries_go_through_all_shards(twin: Any, store: Any) -> None:
    for owned in on_each(store):
        store.commit(Execution(id=owned[0], definition_id="d"), [(None, Event(kind="a"))] * 2)
    waiting = {entry.seq for entry in store.pending_outbox()}
    delivered: list[int] = []
    handler = twin.handler(lambda entries: delivered.extend(entry.seq for entry in entries))
    assert [store.deliver_outbox(handler, 4), store.deliver_outbox(handler, 4), store.deliver_outbox(handler)] == [
        4,
        2,
        0,
    ]
    assert sorted(delivered) == sorted(waiting)


def test_figures_are_sums_and_problems_name_their_shard(store: Any, dsns: list[str]) -> None:
    for n, owned in enumerate(on_each(store)):
        exe = Execution(id=owned[0], definition_id="d", status=Status.DONE if n == 0 else Status.RUNNING)
        store.commit(exe, [(None, Event(kind="a"))], "ev", [TimerOp("schedule", "/p", 1.0)])
        store.publish(owned[0], Event(kind="a"))
    stats = store.stats()
    assert (stats.executions, stats.queued, stats.broadcasts) == ({"DONE": 1, "RUNNING": 2}, 3, 3)
    assert (stats.timers, stats.overdue_timers, stats.processed_events, stats.outbox) == (3, 3, 3, 0)
    assert stats.oldest_wait is not None
    assert stats.oldest_overdue is not None
    for dsn in dsns:
        rows(dsn, "INSERT INTO dead_letters VALUES ('g', default, 1, 'e', 'r', 1, now()) RETURNING 1")
    problems = [problem for problem in store.health() if "dead letters" in problem.problem]
    assert [problem.detail.split(":")[0] for problem in problems] == [f"Shard {name}" for name in store.shards]


def test_events_are_published_where_their_execution_is(store: Any, dsns: list[str]) -> None:
    for owned in on_each(store):
        store.save(Execution(id=owned[0], definition_id="d"))
        store.publish(owned[0], Event(kind="a"))
        assert store.send(owned[0], Event(kind="b")) is not None
    assert store.send("nobody", Event(kind="a")) is None
    groups = of_all(
        dsns, "SELECT group_id, harel_shard_of(group_id) = name FROM transport_messages, harel_shards() WHERE is_here"
    )
    assert Counter(groups) == {(owned[0], True): 2 for owned in on_each(store)}


def test_old_executions_are_purged_up_to_a_limit_in_all(store: Any) -> None:
    for owned in on_each(store, 2):
        for id in owned:
            store.commit(Execution(id=id, definition_id="d", status=Status.DONE), [], "ev")
    assert store.purge_processed(0.0, 4) == 4
    assert store.purge_processed(0.0) == 2
    assert [store.purge_finished(0.0, 0), store.purge_finished(0.0, 4), store.purge_finished(0.0)] == [0, 4, 2]


# What is moved between them.


def emit(store: Any, source: str, target: str, *ids: str) -> None:
    store.commit(store.load(source), [(target, Event(id=id, kind="e")) for id in ids])


def queued(dsns: list[str]) -> dict[str, list[str]]:
    """The ids of the events in the queues, by execution."""
    found: dict[str, list[str]] = defaultdict(list)
    for group, id in of_all(
        dsns, "SELECT group_id, event::json ->> 'id' FROM transport_messages ORDER BY group_id, seq"
    ):
        found[group].append(id)
    return found


def waiting(dsns: list[str]) -> int:
    return sum(
        row[0]
        for row in of_all(
            dsns, "SELECT (SELECT count(*) FROM outbox WHERE target_id IS NOT NULL) + (SELECT count(*) FROM spawns)"
        )
    )


def relayed(store: Any, limit: int = 1000) -> int:
    """How many were moved until none was left."""
    total = 0
    while moved := store.relay(limit):
        total += moved
    return total


def test_events_reach_the_shards_of_their_targets_once_and_in_order(store: Any, dsns: list[str]) -> None:
    everyone = [id for owned in on_each(store, 2) for id in owned]
    for id in everyone:
        store.save(Execution(id=id, definition_id="d"))
    for n in range(3):
        for source in everyone:
            for target in everyone:
                emit(store, source, target, f"{source}>{target}>{2 * n}", f"{source}>{target}>{2 * n + 1}")
    for dsn in dsns:
        rows(dsn, "SELECT * FROM harel_tick()")
    assert relayed(store, 5) == 6 * 4 * 6
    assert waiting(dsns) == 0
    for target, found in queued(dsns).items():
        for source in everyone:
            assert [id for id in found if id.startswith(f"{source}>")] == [f"{source}>{target}>{n}" for n in range(6)]
    assert len(of_all(dsns, "SELECT 1 FROM transport_messages")) == 6 * 6 * 6


class Killed(BaseException):
    """What ends a relay in the middle, as a signal would."""


def interrupted(store: ShardedStore, when: Callable[[int], None]) -> None:
    """Calls `when` before and after each call to a shard, with how many there were before it."""
    count = iter(range(1_000_000))

    def wrapped(run: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def call(call: Any) -> Any:
            when(next(count))
            answer = run(call)
            when(next(count))
            return answer

        return call

    for shard in store._stores:
        shard._run = wrapped(shard._run)  # type: ignore[method-assign]


def points(dsns: list[str], relay: Callable[[ShardedStore], None]) -> int:
    """How many points there are at which a relay can be interrupted."""
    passed: list[int] = []
    with ExitStack() as closing:
        store = ShardedStore(dsns)
        closing.callback(store.close)
        interrupted(store, passed.append)
        relay(store)
    return len(passed)


def work_for_a_relay(store: ShardedStore, turn: int) -> tuple[list[str], list[tuple[str, str]]]:
    """Events from each shard to each, and a child for each on another shard with an event: what must arrive."""
    owners = [owned[0] for owned in on_each(store)]
    events: list[str] = []
    children: list[tuple[str, str]] = []
    for n, source in enumerate(owners):
        if store.load(source) is None:
            store.save(Execution(id=source, definition_id="d"))
        for target in owners:
            if target != source:
                ids = [f"{turn}:{source}>{target}>{k}" for k in range(2)]
                emit(store, source, target, *ids)
                events += ids
        child = next(
            id for id in (f"{turn}-{n}-child-{k}" for k in range(1000)) if store.shard_of(id) != store.shard_of(source)
        )
        children.append((source, child))
        store.commit(store.load(source), [(child, Event(id=f"{child}-hello", kind="e"))], spawns=[(child, "/r", {})])  # type: ignore[arg-type]
    return events, children


def check_arrived(dsns: list[str], events: list[str], children: list[tuple[str, str]]) -> None:
    assert waiting(dsns) == 0
    found = queued(dsns)
    of_events = [id for ids in found.values() for id in ids if ">" in id]
    assert sorted(of_events) == sorted(events)
    for ids in found.values():
        per_source: dict[str, list[str]] = defaultdict(list)
        for id in ids:
            if ">" in id:
                per_source[id.partition(":")[2].partition(">")[0]].append(id)
        for ids_of_source in per_source.values():
            assert ids_of_source == [id for id in events if id in ids_of_source]
    for parent, child in children:
        assert len(found[child]) == 2, "a Start event and one more"
        assert found[child][1] == f"{child}-hello", "in this order"
        assert of_all(dsns, sql.SQL("SELECT parent_id FROM executions WHERE id = {}").format(child)) == [(parent,)]
    assert of_all(dsns, "SELECT reason FROM dead_letters") == []


def test_a_relay_that_is_killed_anywhere_loses_and_doubles_nothing(dsns: list[str]) -> None:
    with ExitStack() as closing:
        store = ShardedStore(dsns)
        closing.callback(store.close)
        events, children = work_for_a_relay(store, 0)
        last = points(dsns, lambda other: [other.relay(), None][1])
        assert last > 40
        relayed(store)
        for turn in range(1, last + 1):
            some, more = work_for_a_relay(store, turn)
            events.extend(some)
            children.extend(more)

            def kill(point: int, turn: int = turn) -> None:
                if point == turn - 1:
                    raise Killed

            other = ShardedStore(dsns)
            interrupted(other, kill)
            with suppress(Killed):
                other.relay()
            other.close()
            relayed(store)
        check_arrived(dsns, events, children)


def test_relays_that_run_at_once_lose_and_double_nothing(dsns: list[str]) -> None:
    """At each point of one of them another does all that there is to do, and more comes."""
    with ExitStack() as closing:
        store = ShardedStore(dsns)
        closing.callback(store.close)
        events, children = work_for_a_relay(store, 0)
        last = points(dsns, lambda other: [other.relay(), None][1])
        relayed(store)
        for turn in range(1, last + 1):
            some, more = work_for_a_relay(store, 2 * turn)
            events.extend(some)
            children.extend(more)

            def meanwhile(point: int, turn: int = turn) -> None:
                if point == turn - 1:
                    relayed(store)
                    some, more = work_for_a_relay(store, 2 * turn + 1)
                    events.extend(some)
                    children.extend(more)

            other = ShardedStore(dsns)
            interrupted(other, meanwhile)
            other.relay()
            other.close()
            relayed(store)
        check_arrived(dsns, events, children)


def test_a_sender_that_was_restored_is_told_apart_from_its_past(store: Any, dsns: list[str]) -> None:
    """Rows that had been moved come again, and their seqs then stand for others."""
    (source,), (target,), _ = on_each(store)
    for id in (source, target):
        store.save(Execution(id=id, definition_id="d"))
    (sender,) = [dsn for dsn in dsns if (store.shard_of(source), True) in maps([dsn])[0]]
    emit(store, source, target, "one", "two")
    backup = rows(sender, "SELECT seq, target_id, event, source_id, shard FROM outbox")
    assert relayed(store) == 2
    restore = "INSERT INTO outbox (seq, target_id, event, source_id, shard) VALUES (%s, %s, %s, %s, %s) RETURNING 1"
    for row in backup:
        rows(sender, restore, *row)
    assert relayed(store) == 2
    assert queued(dsns)[target] == ["one", "two"]
    rows(sender, "SELECT setval('outbox_seq_seq', %s, false)", backup[0][0])
    emit(store, source, target, "three")
    assert relayed(store) == 1
    assert queued(dsns)[target] == ["one", "two", "three"]
    assert store.purge_receipts(0.0) == 3


def test_a_target_that_is_being_worked_on_holds_up_no_other(store: Any, dsns: list[str]) -> None:
    (source, *_), (busy, free, *_), _ = on_each(store, 2)
    for id in (source, busy, free):
        store.save(Execution(id=id, definition_id="d"))
    store.publish(busy, Event(id="before", kind="e"))
    emit(store, source, busy, "1", "2")
    emit(store, source, free, "3")
    (receiver,) = [dsn for dsn in dsns if (store.shard_of(busy), True) in maps([dsn])[0]]
    with psycopg.connect(receiver) as other:
        other.execute("SELECT FROM transport_groups WHERE group_id = %s FOR UPDATE", [busy])
        assert [store.relay(1), store.relay(1), store.relay(1)] == [0, 1, 0]
        assert queued(dsns)[free] == ["3"]
    assert relayed(store, 1) == 2
    assert queued(dsns)[busy] == ["before", "1", "2"]


def test_a_shard_that_is_down_holds_up_no_other(dsns: list[str]) -> None:
    store = ShardedStore(dsns, connect_retries=0)
    owners = [owned[0] for owned in on_each(store)]
    for id in owners:
        store.save(Execution(id=id, definition_id="d"))
    for source in owners:
        for target in owners:
            emit(store, source, target, f"{source}>{target}")
    (down,) = [dsn for dsn in dsns if (store.shards[1], True) in maps([dsn])[0]]
    name = sql.Identifier(str(conninfo_to_dict(down)["dbname"]))
    (other, *_) = [dsn for dsn in dsns if dsn != down]
    with psycopg.connect(other, autocommit=True) as session:
        session.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(name))
        session.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
            [conninfo_to_dict(down)["dbname"]],
        )
        with pytest.raises(psycopg.OperationalError):
            store.relay()
        up = [dsn for dsn in dsns if dsn != down]
        assert f"{owners[0]}>{owners[2]}" in queued(up)[owners[2]]
        assert f"{owners[2]}>{owners[0]}" in queued(up)[owners[0]]
        assert store.load(owners[0]) is not None
        session.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(name))
    assert relayed(store) == 4
    assert set(queued(dsns)[owners[1]]) == {f"{owners[0]}>{owners[1]}", f"{owners[2]}>{owners[1]}"}
    assert len(queued(dsns)[owners[1]]) == 2
    store.close()


def family(store: Any) -> list[str]:
    """An execution with a child on each other shard, one of which has a child on the first one again."""
    on = on_each(store, 2)
    root, child, other, grandchild = on[0][0], on[1][0], on[2][0], on[0][1]
    store.save(Execution(id=root, definition_id="d", status=Status.RUNNING))
    for id, parent in ((child, root), (other, root), (grandchild, child)):
        store.save(Execution(id=id, definition_id="d", status=Status.RUNNING, parent_id=parent))
    return [root, child, other, grandchild]


def test_a_tree_over_several_shards_is_controlled_as_one(store: Any) -> None:
    everyone = family(store)
    bystander = on_each(store, 3)[1][2]
    store.save(Execution(id=bystander, definition_id="d", status=Status.RUNNING))
    for verb, status in (("suspend", "SUSPENDED"), ("resume", "RUNNING"), ("cancel", "CANCELLED")):
        assert getattr(store, verb)(everyone[0])
        assert [store.load(id).status for id in everyone] == [status] * 4
        assert not getattr(store, verb)(everyone[0])
    assert store.load(bystander).status == "RUNNING"
    assert not store.cancel("nobody")
    with pytest.raises(InvalidArgument, match="ST001"):
        store.cancel(None)


def test_all_that_match_are_controlled_on_each_shard(store: Any) -> None:
    for owned in on_each(store, 2):
        for id in owned:
            store.save(Execution(id=id, definition_id="d", status=Status.RUNNING))
    assert store.suspend_all(status=iter(["RUNNING"]), dry_run=True) == 6
    assert store.suspend_all(definition_id="d") == 6
    assert store.resume_all(status=[Status.SUSPENDED]) == 6
    assert store.cancel_all(roots_only=True) == 6
    assert store.stats().executions == {"CANCELLED": 6}


def test_a_child_of_a_suspended_parent_is_suspended(store: Any) -> None:
    (parent,), (child,), _ = on_each(store)
    exe = Execution(id=parent, definition_id="d", status=Status.RUNNING)
    store.save(exe)
    store.commit(exe, [], spawns=[(child, "/r", {})])
    store.suspend(parent)
    assert store.relay() == 1
    assert store.load(child).status == "SUSPENDED"
    assert store.resume(parent)
    assert store.load(child).status == "PENDING"


# With workers.


def hop(exe: Execution, event: Event) -> Step | None:
    """Counts what it gets; passes a hop on, forks into children that end at once, and joins them."""
    exe.status = Status.RUNNING
    seen = exe.context.setdefault("seen", [])
    seen.append(f"{event.kind}:{event.data.get('n', '')}")
    if event.kind == "Start":
        exe.status = Status.DONE
        return Step(exe, [(exe.parent_id, Event(kind="Finished", data={"n": exe.id}))])
    if event.kind == "Finished":
        if sum(entry.startswith("Finished") for entry in seen) == exe.context["forked"]:
            exe.status = Status.DONE
        return Step(exe)
    if event.data["n"] > 0:
        ring = exe.context["ring"]
        following = ring[(ring.index(exe.id) + 1) % len(ring)]
        return Step(exe, [(following, Event(kind="Hop", data={"n": event.data["n"] - 1}))])
    children = [f"{exe.id}/child-{k}" for k in range(exe.context["forked"])]
    return Step(exe, spawns=[(child, "/r", {}) for child in children])


def test_workers_of_each_shard_and_two_relays_finish_what_crosses_them(dsns: list[str]) -> None:
    with ExitStack() as closing:
        store = ShardedStore(dsns)
        closing.callback(store.close)
        ring = [id for owned in on_each(store, 2) for id in owned]
        hops = 2 * len(ring)
        for id in ring:
            store.save(Execution(id=id, definition_id="d", context={"ring": ring, "forked": 5}))
        relays = [
            subprocess.Popen(
                [sys.executable, "-m", "harel", "relay", "--interval=0.01", *(f"--shard={dsn}" for dsn in dsns)],
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        for relay in relays:
            closing.callback(relay.wait)
            closing.callback(relay.kill)
        for dsn in dsns * 2:
            closing.enter_context(Running(dsn, hop))
        for id in ring:
            # Each token goes round twice and ends where it began.
            store.publish(id, Event(kind="Hop", data={"n": hops}))
        until(lambda: store.stats().executions == {"DONE": 6 * len(ring)})
        for id in ring:
            exe = store.load(id)
            assert exe is not None
            counts = Counter(entry.partition(":")[0] for entry in exe.context["seen"])
            assert counts == {"Hop": hops + 1, "Finished": 5}
            ended = [entry for entry in exe.context["seen"] if entry.startswith("Finished")]
            assert sorted(ended) == [f"Finished:{id}/child-{k}" for k in range(5)]
            assert sorted(entry for entry in exe.context["seen"] if entry.startswith("Hop")) == sorted(
                f"Hop:{n}" for n in range(hops + 1)
            )
        # What has arrived is settled a moment later.
        until(lambda: waiting(dsns) == 0)
        assert of_all(dsns, "SELECT reason FROM dead_letters") == []
        for relay in relays:
            relay.send_signal(signal.SIGTERM)
        for relay in relays:
            _, said = relay.communicate(timeout=60)
            assert relay.returncode == 0
            assert "relay between 3 shards" in said
            assert "relay has ended" in said
            assert "WARNING" not in said


def test_a_relay_that_cannot_start_says_why_in_one_line(shard_dsns: list[str]) -> None:
    ShardedStore(shard_dsns[:2]).close()
    for dsns, code, says in (
        (shard_dsns[:1], 1, "ST016"),
        ([f"{shard_dsns[0]} dbname=no_such_database"], 1, "does not exist"),
        (["no dsn"], 2, "no connection string"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "harel", "relay", *(f"--shard={dsn}" for dsn in dsns)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.returncode, done.stderr.count("\n")) == (code, 1), done.stderr
        assert says in done.stderr


# What happens while the map is written. Of the shards north and south, south owns e.

INTO_SOUTH = [
    "SELECT harel_commit_cas('e', 'd', '{}', 0)",
    "SELECT harel_commit('e', 'd', '{}', 0, p_emit_targets => '{e}', p_emit_events => '{1}')",
    "SELECT harel_publish('e', '{}')",
    "SELECT harel_publish_many('{e}', '{1}')",
]
JOIN = "SELECT harel_join_shards('{north,south}', 'north')"


@pytest.mark.parametrize("write", INTO_SOUTH)
def test_what_is_written_before_the_map_is_seen_by_whoever_writes_it(store_dsn: str, write: str) -> None:
    with psycopg.connect(store_dsn) as session, Beside(store_dsn) as beside:
        session.execute(write)
        join = beside.blocked(rows, store_dsn, JOIN)
        session.commit()
        with pytest.raises(psycopg.Error, match="would belong to 'south'"):
            join.result()
    assert maps([store_dsn]) == [[]]


@pytest.mark.parametrize("write", INTO_SOUTH)
def test_what_is_written_after_the_map_has_it_before_its_eyes(store_dsn: str, write: str) -> None:
    with psycopg.connect(store_dsn) as session, Beside(store_dsn) as beside:
        session.execute(JOIN)
        written = beside.blocked(rows, store_dsn, write)
        session.commit()
        with pytest.raises(psycopg.Error, match="belongs to another shard"):
            written.result()


@pytest.mark.parametrize("first", ["a commit", "the map"])
def test_an_event_emitted_while_the_map_is_written_waits_for_its_shard(store_dsn: str, first: str) -> None:
    emit = "SELECT harel_commit('a', 'd', '{}', 0, p_emit_targets => '{e}', p_emit_events => '{1}')"
    one, other = (emit, JOIN) if first == "a commit" else (JOIN, emit)
    with psycopg.connect(store_dsn) as session, Beside(store_dsn) as beside:
        session.execute(one)
        second = beside.blocked(rows, store_dsn, other)
        session.commit()
        second.result()
    assert rows(store_dsn, "SELECT target_id, shard FROM outbox") == [("e", "south")]
    assert rows(store_dsn, "SELECT relayed FROM harel_tick()") == [(0,)]


def test_an_event_of_a_step_that_ends_while_the_map_is_written_waits_for_its_shard(store_dsn: str) -> None:
    rows(store_dsn, "SELECT harel_commit_cas('a', 'd', '{}', 0), harel_publish('a', '{}')")
    ((token,),) = rows(store_dsn, "SELECT token FROM harel_next('w', 30)")
    finish = (
        "SELECT result FROM harel_finish('{a}', ARRAY[%s]::uuid[], '{d}', ARRAY['{}'], '{1}',"
        " p_emit_commits => '{1}', p_emit_targets => '{e}', p_emit_events => '{1}',"
        " p_spawn_commits => '{1}', p_spawn_children => '{g}', p_spawn_root_paths => '{r}', p_spawn_contexts => '{1}')"
    )
    with psycopg.connect(store_dsn) as session, Beside(store_dsn) as beside:
        session.execute(JOIN)
        finished = beside.blocked(rows, store_dsn, finish, token)
        session.commit()
        assert finished.result() == [("finished",)]
    assert rows(store_dsn, "SELECT target_id, shard FROM outbox") == [("e", "south")]
    assert rows(store_dsn, "SELECT child_id, shard FROM spawns") == [("g", "south")]
    assert rows(store_dsn, "SELECT group_id FROM transport_groups") == []
