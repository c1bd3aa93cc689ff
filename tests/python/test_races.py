"""Two sessions at once: one wins, the other is told so, and nothing is lost, written twice or deadlocked."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import chain
from threading import Barrier
from typing import Any

import psycopg
import pytest
from psycopg import IsolationLevel
from wire import DEADLINE, KINDS, Beside, opened

from harel import Event, Execution, ExecutionStore, StoreConflict, TimerOp

Session = psycopg.Connection[Any]

ISOLATION = (IsolationLevel.READ_COMMITTED, IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE)

COMMITS = {
    "harel_commit_cas": "SELECT harel_commit_cas(%(id)s, 'orders', '{}', %(old)s, %(event)s)",
    "harel_commit": """
        SELECT committed FROM harel_commit(
            %(id)s, 'orders', '{}', %(old)s, %(event)s,
            p_emit_targets => ARRAY[NULL], p_emit_events => ARRAY['{}'],
            p_spawn_children => ARRAY['child'], p_spawn_root_paths => ARRAY[''], p_spawn_contexts => ARRAY['{}'],
            p_timer_actions => ARRAY['schedule'], p_timer_paths => ARRAY['path'], p_timer_fire_ats => ARRAY[1],
            p_trace => '{}'
        )
    """,
    "harel_commit_batch": """
        SELECT committed FROM harel_commit_batch(
            ARRAY[%(id)s], ARRAY['orders'], ARRAY['{}'], ARRAY[%(old)s::bigint], ARRAY[%(event)s],
            ARRAY[1], ARRAY[NULL], ARRAY['{}'], p_traces => ARRAY['{}']
        )
    """,
}

SAVE = "SELECT harel_commit_cas(%s, 'orders', '{}', %s)"


@contextmanager
def sessions(dsn: str, isolation: IsolationLevel = IsolationLevel.READ_COMMITTED) -> Iterator[tuple[Session, Session]]:
    """Two sessions, each in a transaction with a snapshot of its own."""
    # The first is closed first, whatever happens: the second may wait for it.
    with psycopg.connect(dsn) as second, psycopg.connect(dsn) as first:
        for session in (first, second):
            session.isolation_level = isolation
            session.execute("SELECT")
        yield first, second


def value(session: Session, sql: str, *parameters: Any) -> Any:
    row = session.execute(sql, parameters).fetchone()
    assert row is not None
    return row[0]


@pytest.fixture
def beside(store_dsn: str) -> Iterator[Beside]:
    with Beside(store_dsn) as beside:
        yield beside


def counts(dsn: str) -> dict[str, int]:
    tables = ("executions", "outbox", "processed_events", "spawns", "timers", "trace")
    with psycopg.connect(dsn) as session:
        return {table: value(session, f"SELECT count(*) FROM {table}") for table in tables}


@pytest.mark.parametrize("ending", ["commit", "rollback"])
@pytest.mark.parametrize("first_save", [False, True], ids=["version", "first save"])
@pytest.mark.parametrize("commit", COMMITS.values(), ids=COMMITS)
@pytest.mark.parametrize("isolation", ISOLATION, ids=lambda level: level.name)
def test_of_two_sessions_exactly_one_commits(
    store_dsn: str, beside: Beside, isolation: IsolationLevel, commit: str, first_save: bool, ending: str
) -> None:
    old = 0
    if not first_save:
        old = 1
        with psycopg.connect(store_dsn) as session:
            session.execute(SAVE, ("raced", 0))
    with sessions(store_dsn, isolation) as (first, second):
        won = first.execute(commit, {"id": "raced", "old": old, "event": "first"}).fetchone()
        attempt = beside.blocked(second.execute, commit, {"id": "raced", "old": old, "event": "second"})
        getattr(first, ending)()
        answer = attempt.result(DEADLINE).fetchone()
        assert (won, answer) == ((True,), (ending == "rollback",))
        # Having lost is no error: the transaction goes on.
        second.execute("SELECT")
        second.commit()

    with psycopg.connect(store_dsn) as session:
        assert value(session, "SELECT version FROM executions") == old + 1
        winner = "second" if ending == "rollback" else "first"
        assert session.execute("SELECT event_id FROM processed_events").fetchall() == [(winner,)]
    written = counts(store_dsn)
    assert max(written.values()) == 1
    assert written["outbox"] == written["trace"] == (commit != COMMITS["harel_commit_cas"])


@pytest.mark.parametrize("isolation", ISOLATION, ids=lambda level: level.name)
def test_the_loser_is_told_the_version_that_it_can_see(
    store_dsn: str, beside: Beside, isolation: IsolationLevel
) -> None:
    commit = "SELECT committed, stored_version, outbox_seqs FROM harel_commit('raced', 'orders', '{}', 1)"
    with psycopg.connect(store_dsn) as session:
        session.execute(SAVE, ("raced", 0))
    with sessions(store_dsn, isolation) as (first, second):
        first.execute(SAVE, ("raced", 1))
        attempt = beside.blocked(second.execute, commit)
        first.commit()
        # The snapshot of a stricter level hides it.
        seen = 2 if isolation is IsolationLevel.READ_COMMITTED else None
        assert attempt.result(DEADLINE).fetchone() == (False, seen, [])


@pytest.mark.parametrize("first_save", [False, True], ids=["version", "first save"])
@pytest.mark.parametrize("isolation", ISOLATION[:2], ids=lambda level: level.name)
def test_a_member_of_a_batch_that_loses_takes_no_other_with_it(
    store_dsn: str, beside: Beside, isolation: IsolationLevel, first_save: bool
) -> None:
    old = 0 if first_save else 1
    batch = f"""
        SELECT id, committed FROM harel_commit_batch(
            ARRAY['c', 'b', 'a'], array_fill('orders'::text, ARRAY[3]), array_fill('{{}}'::text, ARRAY[3]),
            ARRAY[0, {old}, 0]
        )
    """
    with psycopg.connect(store_dsn) as session:
        for version in range(old):
            session.execute(SAVE, ("b", version))
    with sessions(store_dsn, isolation) as (first, second):
        first.execute(SAVE, ("b", old))
        attempt = beside.blocked(second.execute, batch)
        first.commit()
        assert attempt.result(DEADLINE).fetchall() == [("c", True), ("b", False), ("a", True)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("trace", [None, {"event": "Paid"}], ids=["fast path", "complex path"])
@pytest.mark.parametrize("version", [0, 1])
def test_a_client_that_commits_second_gets_a_conflict_and_keeps_its_version(
    store_dsn: str, beside: Beside, kind: str, trace: dict[str, Any] | None, version: int
) -> None:
    exe = Execution(id="raced", definition_id="orders")
    with opened(kind, store_dsn) as store, psycopg.connect(store_dsn) as other:
        for _ in range(version):
            store.save(exe)
        other.execute(SAVE, ("raced", version))
        attempt = beside.blocked(lambda: store.commit(exe, [], trace=trace))
        other.commit()
        with pytest.raises(StoreConflict) as conflict:
            attempt.result(DEADLINE)

        assert (conflict.value.expected, conflict.value.found) == (version, version + 1)
        assert exe.version == version
        assert store.read_trace("raced") == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", [0, 1])
def test_a_client_wins_when_the_first_to_commit_rolls_back(
    store_dsn: str, beside: Beside, kind: str, version: int
) -> None:
    exe = Execution(id="raced", definition_id="orders")
    with opened(kind, store_dsn) as store, psycopg.connect(store_dsn) as other:
        for _ in range(version):
            store.save(exe)
        other.execute(SAVE, ("raced", version))
        attempt = beside.blocked(store.save, exe)
        other.rollback()
        attempt.result(DEADLINE)
        assert exe.version == version + 1


@pytest.mark.parametrize(
    ("reschedule", "left"),
    [
        pytest.param("ARRAY['schedule'], ARRAY['path'], ARRAY[20]", [(20.0,)], id="schedule"),
        pytest.param(
            "ARRAY['cancel', 'schedule'], ARRAY['path', 'path'], ARRAY[0, 20]", [(20.0,)], id="cancel and schedule"
        ),
        pytest.param("ARRAY['cancel'], ARRAY['path'], ARRAY[0]", [], id="cancel"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_timer_re_scheduled_meanwhile_survives_its_sweep(
    store_dsn: str, beside: Beside, kind: str, reschedule: str, left: list[tuple[float]]
) -> None:
    exe = Execution(id="late", definition_id="orders")
    with opened(kind, store_dsn) as store, psycopg.connect(store_dsn) as other:
        store.commit(exe, [], timers=[TimerOp("schedule", "path", 10.0)])
        other.execute(
            "SELECT harel_commit('late', 'orders', '{}', 1, NULL, NULL, NULL, NULL, NULL, NULL, " + reschedule + ")"
        )
        sweep = beside.blocked(store.delete_timer, "late", "path", 10.0)
        other.commit()
        assert sweep.result(DEADLINE) is False
        assert other.execute("SELECT fire_at FROM timers").fetchall() == left


@pytest.mark.parametrize("kind", KINDS)
def test_a_sweep_disarms_a_timer_whose_re_scheduling_was_rolled_back(store_dsn: str, beside: Beside, kind: str) -> None:
    exe = Execution(id="late", definition_id="orders")
    with opened(kind, store_dsn) as store, psycopg.connect(store_dsn) as other:
        store.commit(exe, [], timers=[TimerOp("schedule", "path", 10.0)])
        other.execute(
            "SELECT harel_commit('late', 'orders', '{}', 1, p_timer_actions => ARRAY['schedule'], "
            "p_timer_paths => ARRAY['path'], p_timer_fire_ats => ARRAY[20])"
        )
        sweep = beside.blocked(store.delete_timer, "late", "path", 10.0)
        other.rollback()
        assert sweep.result(DEADLINE) is True
        assert store.due_timers(100.0) == []


TRACES = {
    "append": "SELECT harel_append_trace('traced', %(entry)s)",
    "commit": "SELECT harel_commit('traced', 'orders', '{}', %(old)s, p_trace => %(entry)s)",
}


@pytest.mark.parametrize(
    ("first_way", "second_way"), [("append", "append"), ("append", "commit"), ("commit", "append")]
)
@pytest.mark.parametrize("saved", [False, True], ids=["before the first save", "after it"])
@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_entries_traced_at_once_get_numbers_of_their_own(
    store_dsn: str, beside: Beside, first_way: str, second_way: str, saved: bool, ending: str
) -> None:
    with psycopg.connect(store_dsn) as session:
        for version in range(saved):
            session.execute(SAVE, ("traced", version))
    with sessions(store_dsn) as (first, second):
        first.execute(TRACES[first_way], {"old": int(saved), "entry": "first"})
        attempt = beside.blocked(second.execute, TRACES[second_way], {"old": int(saved), "entry": "second"})
        getattr(first, ending)()
        attempt.result(DEADLINE)
        second.commit()
        entries = second.execute("SELECT idx, entry FROM harel_read_trace('traced')").fetchall()
    assert entries == ([(0, "first"), (1, "second")] if ending == "commit" else [(0, "second")])


@pytest.mark.parametrize("cap", [0, 2])
@pytest.mark.parametrize("saved", [False, True], ids=["before the first save", "after it"])
def test_many_who_append_to_one_trace_lose_and_repeat_no_entry(store_dsn: str, saved: bool, cap: int) -> None:
    writers, entries = 6, 30
    start = Barrier(writers)

    def append(writer: int) -> list[tuple[int, int, int]]:
        with opened(KINDS[writer % 2], store_dsn, trace_max=cap) as store:
            start.wait(DEADLINE)
            return [(store.append_trace("traced", {"by": writer, "n": n}), writer, n) for n in range(entries)]

    with opened("sync", store_dsn) as store:
        if saved:
            store.save(Execution(id="traced", definition_id="orders"))
        with ThreadPoolExecutor(writers) as threads:
            appended = sorted(chain.from_iterable(threads.map(append, range(writers))))
        trace = store.read_trace("traced")
    assert [index for index, _, _ in appended] == list(range(writers * entries))
    assert [(entry["index"], entry["by"], entry["n"]) for entry in trace] == appended[-cap:]


@pytest.mark.parametrize("first_saves", [False, True], ids=["versions", "first saves"])
def test_batches_with_their_ids_in_opposite_order_do_not_deadlock(store_dsn: str, first_saves: bool) -> None:
    rounds, size = 60, 6
    start = Barrier(2)
    batch = """
        SELECT committed FROM harel_commit_batch(
            %(ids)s, array_fill('orders'::text, ARRAY[%(size)s]), array_fill('{}'::text, ARRAY[%(size)s]),
            array_fill(%(old)s::bigint, ARRAY[%(size)s]), array_fill('event'::text, ARRAY[%(size)s]),
            p_traces => array_fill('{}'::text, ARRAY[%(size)s])
        )
    """

    def commit(step: int) -> list[list[bool]]:
        answers = []
        with psycopg.connect(store_dsn, autocommit=True) as session:
            for n in range(rounds):
                prefix, old = (f"{n:03}", 0) if first_saves else ("", n)
                ids = [f"{prefix}{c}" for c in "abcdef"][::step]
                start.wait(DEADLINE)
                rows = session.execute(batch, {"ids": ids, "size": size, "old": old}).fetchall()
                answers.append([committed for (committed,) in rows][::step])
        return answers

    with ThreadPoolExecutor(2) as threads:
        forwards, backwards = threads.map(commit, (1, -1))
    # Whoever has the first row has them all.
    for one, other in zip(forwards, backwards, strict=True):
        assert {tuple(one), tuple(other)} == {(True,) * size, (False,) * size}


def test_two_batches_that_share_no_winner_split_their_rows(store_dsn: str, beside: Beside) -> None:
    batch = """
        SELECT committed FROM harel_commit_batch(
            %s, ARRAY['orders', 'orders'], ARRAY['{}', '{}'], ARRAY[0, 0]
        )
    """
    with sessions(store_dsn) as (first, second):
        assert first.execute(batch, (["b", "c"],)).fetchall() == [(True,), (True,)]
        attempt = beside.blocked(second.execute, batch, (["b", "a"],))
        first.commit()
        assert attempt.result(DEADLINE).fetchall() == [(False,), (True,)]


@pytest.mark.parametrize("ending", ["commit", "rollback"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_acknowledged_by_two_sessions_is_removed_once(
    store_dsn: str, beside: Beside, kind: str, ending: str
) -> None:
    exe = Execution(id="parent", definition_id="orders")
    with opened(kind, store_dsn) as store, psycopg.connect(store_dsn) as other:
        (seq,) = store.commit(exe, [(None, Event(kind="Paid"))], spawns=[("child", "", {})])
        (spawn,) = store.pending_spawns()
        for function, ack, row in (
            ("harel_ack_outbox", store.ack_outbox, seq),
            ("harel_ack_spawn", store.ack_spawn, spawn.seq),
        ):
            assert value(other, f"SELECT {function}(%s)", row) == 1
            second = beside.blocked(ack, row)
            getattr(other, ending)()
            assert second.result(DEADLINE) is (ending == "rollback")
            assert ack(row) is False
        assert store.pending_outbox() == []
        assert store.pending_spawns() == []


def test_workers_that_all_get_every_event_apply_each_once(store_dsn: str) -> None:
    workers, events = 8, [f"event {n}" for n in range(25)]
    ids = ["first", "second", "third"]
    start = Barrier(workers)

    def work(store: ExecutionStore) -> dict[str, int]:
        """Applies the events of each execution in their order, and counts what it committed itself."""
        committed = dict.fromkeys(ids, 0)
        start.wait(DEADLINE)
        for event in events:
            for id in ids:
                while True:
                    exe, done = store.load_for_event(id, event)
                    if done:
                        break
                    exe = exe or Execution(id=id, definition_id="orders")
                    exe.context[event] = exe.version
                    try:
                        store.commit(exe, [(id, Event(kind=event))], event, trace={"event": event})
                    except StoreConflict:
                        continue
                    committed[id] += 1
                    break
        return committed

    with ExitStack() as stack, ThreadPoolExecutor(workers) as threads:
        # Half of them have a connection each, the others share a pool.
        stores = [stack.enter_context(opened("sync", store_dsn)) for _ in range(workers // 2)]
        stores += [stack.enter_context(opened("async", store_dsn, trace_max=1000))] * (workers - len(stores))
        committed = list(threads.map(work, stores))

        for id in ids:
            assert sum(count[id] for count in committed) == len(events)
            exe = stores[0].load(id)
            assert exe is not None
            assert exe.version == len(events)
            assert exe.context == {event: n for n, event in enumerate(events)}
            trace = stores[0].read_trace(id)
            assert [(entry["index"], entry["event"]) for entry in trace] == list(enumerate(events))
            assert [entry.event.kind for entry in stores[0].pending_outbox() if entry.target_id == id] == events
        # Nobody wins all: there was a race.
        assert max(sum(count.values()) for count in committed) < len(ids) * len(events)

    with psycopg.connect(store_dsn) as session:
        handled = session.execute("SELECT execution_id, event_id FROM processed_events").fetchall()
        stored = session.execute("SELECT data FROM executions").fetchall()
    assert sorted(handled) == sorted((id, event) for id in ids for event in events)
    assert [json.loads(data)["version"] for (data,) in stored] == [len(events)] * len(ids)
