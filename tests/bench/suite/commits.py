"""Commits beside the same work written by hand."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import cycle
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from typing import Any

import psycopg

from harel import Event, PostgresStore, TimerOp
from harel.engine.store._calls import array

from ..harness import Bench, Pgbench, at_least, fill, with_disk
from ..network import delayed
from ..peers.serve import per_second, repeat
from ..samples import sample

EXECUTIONS = 1024

# Each client has executions of its own, one commit for each in turn.
CLIENT = "\\set k :client_id * :each + mod(:n, :each)\n\\set v :n / :each + 1\n"
BY_FUNCTION = CLIENT + "SELECT harel_commit_cas('exe-' || :k::text, 'orders', :data, :v, NULL);"
BY_UPDATE = CLIENT + (
    "UPDATE by_hand SET data = :data, version = :v + 1 WHERE id = 'exe-' || :k::text AND version = :v;"
)


def commit_cas(bench: Bench) -> None:
    """harel_commit_cas() beside an UPDATE of the row by its id and version, both by pgbench, prepared."""
    with bench.database() as dsn, psycopg.connect(dsn, autocommit=True) as session:
        session.execute("CREATE TABLE by_hand (LIKE executions INCLUDING ALL)")
        for kilobytes in (1, 10, 100):
            for disk, clients in (("async", 1), ("async", 32), ("fsync", 1)):
                _commit_cas(bench, session, kilobytes, disk, clients)
        _commit_cas(bench, session, 1, "fsync", 32)
        _commit_cas(bench, session, 1, "fsync + 1 ms", 1)


# At 1 KB and on one connection.
GOALS = {"async": 0.80, "fsync": 0.95}


def _commit_cas(bench: Bench, session: "psycopg.Connection[Any]", kilobytes: int, disk: str, clients: int) -> None:
    data = sample(kilobytes).model_dump_json()
    session.execute("TRUNCATE executions, by_hand")
    for table in ("executions", "by_hand"):
        fill(session, table, "'exe-' || i", EXECUTIONS, data)
    session.execute("CHECKPOINT")
    dsn, variables = with_disk(session.info.dsn, disk), {"data": data, "each": str(EXECUTIONS // clients)}
    by_function = Pgbench(bench, dsn, BY_FUNCTION, clients, **variables)
    by_update = Pgbench(bench, dsn, BY_UPDATE, clients, **variables)
    goal = GOALS.get(disk) if kilobytes == 1 and clients == 1 else None
    bench.compare(
        "harel_commit_cas()", by_function, "UPDATE by hand", by_update,
        parameters=f"{kilobytes} KB, {clients} conn., {disk}",
        unit="commits/s",
        goal=at_least(goal) if goal else None,
        rounds=2 if goal else 1,
    )  # fmt: skip
    for table, side in (("executions", by_function), ("by_hand", by_update)):
        (commits,) = session.execute(f"SELECT sum(version - 1) FROM {table}").fetchone() or ()
        assert commits == side.done * clients, f"{table}: {commits} commits, not {side.done * clients}"


@contextmanager
def complex_commits(
    dsn: str, kilobytes: int, executions: int = 1
) -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
    """A commit with 3 emits, 2 timers, 1 spawn, trace and dedupe, by the store, and by statements in a pipeline."""
    store = PostgresStore.from_dsn(dsn)
    by_hand = psycopg.connect(dsn, autocommit=True)
    ours, others = ([sample(kilobytes) for _ in range(executions)] for _ in range(2))
    for exe in (*ours, *others):
        store.save(exe)
    our_turn, other_turn = cycle(ours), cycle(others)
    emits = [(f"target-{i}", Event(kind="Something", data={"n": i})) for i in range(3)]
    now = time.time()

    def by_store() -> None:
        stored = next(our_turn)
        n = stored.version
        timers = [TimerOp("schedule", "/paying", now + n), TimerOp("cancel", "/waiting")]
        store.commit(stored, emits, f"event-{n}", timers, [(f"child-{n}", "/order/shipping", {"n": n})], {"n": n})

    def by_statements() -> None:
        written = next(other_turn)
        n = written.version
        written.version += 1
        events = [(target, event.model_dump_json(), written.id) for target, event in emits]
        with by_hand.pipeline(), by_hand.cursor() as swap, by_hand.cursor() as cursor:
            # Not transaction(), which waits for answers in between.
            cursor.execute("BEGIN")
            swap.execute(
                "UPDATE executions SET data = %s, definition_id = %s, version = %s, updated_at = now() "
                "WHERE id = %s AND version = %s",
                (written.model_dump_json(), written.definition_id, n + 1, written.id, n),
            )
            seqs = []
            for event in events:
                emit = by_hand.execute(
                    "INSERT INTO outbox (target_id, event, source_id) VALUES (%s, %s, %s) RETURNING seq", event
                )
                seqs.append(emit)
            cursor.execute(
                "INSERT INTO processed_events (execution_id, event_id) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (written.id, f"event-{n}"),
            )
            cursor.execute(
                "INSERT INTO spawns (parent_id, child_id, root_path, context) VALUES (%s, %s, %s, %s)",
                (written.id, f"child-{n}", "/order/shipping", f'{{"n":{n}}}'),
            )
            cursor.execute(
                "INSERT INTO timers (execution_id, path, fire_at) VALUES (%s, %s, %s) "
                "ON CONFLICT (execution_id, path) DO UPDATE SET fire_at = excluded.fire_at",
                (written.id, "/paying", now + n),
            )
            cursor.execute("DELETE FROM timers WHERE execution_id = %s AND path = %s", (written.id, "/waiting"))
            cursor.execute(
                "INSERT INTO trace (execution_id, idx, entry) "
                "SELECT %s, coalesce(max(idx) + 1, 0), %s FROM trace WHERE execution_id = %s",
                (written.id, f'{{"n":{n}}}', written.id),
            )
            cursor.execute("DELETE FROM trace WHERE execution_id = %s AND idx < %s", (written.id, n - store.trace_max))
            cursor.execute("COMMIT")
        assert swap.rowcount == 1
        assert len([seq.fetchone() for seq in seqs]) == len(emits)

    try:
        yield by_store, by_statements
    finally:
        by_hand.close()
        store.close()


def commit(bench: Bench) -> None:
    """store.commit() with all kinds of rows, beside the same rows by hand in one pipelined transaction."""
    for kilobytes in (1, 10):
        for wait in (False, True):
            for round_trip in (0, 1):
                with bench.database(wait_for_disk=wait) as dsn, delayed(dsn, round_trip / 1000) as target:
                    asked = kilobytes == 1 and not wait and not round_trip
                    with complex_commits(target, kilobytes) as (by_store, by_statements):
                        bench.compare(
                            "harel_commit()", bench.rate(by_store),
                            "the same rows by hand, pipelined", bench.rate(by_statements),
                            parameters=f"{kilobytes} KB, {'fsync' if wait else 'async'}, {round_trip} ms",
                            unit="commits/s",
                            goal=at_least(1.25) if asked else None,
                            rounds=3 if asked else 1,
                        )  # fmt: skip
    context = get_context("spawn")
    with (
        bench.database() as dsn,
        ProcessPoolExecutor(CROWD, context, _join_crowd, (dsn, context.Barrier(CROWD))) as crowd,
    ):
        bench.compare(
            "harel_commit()", lambda: _crowded(bench, crowd, 0),
            "the same rows by hand, pipelined", lambda: _crowded(bench, crowd, 1),
            parameters=f"1 KB, async, {CROWD} conn. of as many processes", unit="commits/s",
        )  # fmt: skip


# Processes that commit at once.
CROWD = 8


class _Member:
    """What a process of the crowd keeps: its connections, and where it waits for the others."""

    open = ExitStack()
    calls: tuple[Callable[[], Any], ...]
    together: Barrier


def _join_crowd(dsn: str, together: Barrier) -> None:
    _Member.calls = _Member.open.enter_context(complex_commits(dsn, 1))
    _Member.together = together


def _crowded(bench: Bench, crowd: ProcessPoolExecutor, place: int) -> float:
    """Calls a second of all processes together."""
    return sum(crowd.map(_commits, [place] * CROWD, [bench.seconds] * CROWD))


def _commits(place: int, seconds: float) -> float:
    # Whoever is here first waits, so each process takes one of the tasks, and all work at the same time.
    _Member.together.wait(timeout=60)
    return per_second(repeat(_Member.calls[place], seconds))


BATCH = 50
COMMIT_BATCH = (
    "SELECT committed FROM harel_commit_batch(%s::text[], array_fill('orders'::text, ARRAY[%s]), %s::text[], "
    "array_fill(%s::bigint, ARRAY[%s]))"
)


def batch(bench: Bench) -> None:
    """harel_commit_batch() of 50 commits beside 50 single ones, on one connection that waits for the disk."""
    for round_trip, goal in ((0, 4), (1, 10), (5, None)):
        with bench.database(wait_for_disk=True) as dsn, delayed(dsn, round_trip / 1000) as target:
            at_once, singly = _batches(target)
            bench.compare(
                "harel_commit_batch() of 50", bench.rate(at_once), "50 x harel_commit_cas()", bench.rate(singly),
                parameters=f"1 KB, fsync, {round_trip} ms",
                unit="batches/s",
                goal=at_least(goal) if goal else None,
            )  # fmt: skip


def _batches(dsn: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    session = psycopg.connect(dsn, autocommit=True)
    data = sample().model_dump_json()
    fill(session, "executions", "CASE WHEN i < 50 THEN 'one-' ELSE 'all-' END || i", 2 * BATCH, data)
    version = {"one": 1, "all": 1}
    ids = [f"all-{i}" for i in range(BATCH, 2 * BATCH)]

    def at_once() -> None:
        # As literals, like those of the client: the driver takes longer to make an array of a list than the call takes.
        rows = session.execute(
            COMMIT_BATCH, [array(ids), BATCH, array([data] * BATCH), version["all"], BATCH]
        ).fetchall()
        assert rows == [(True,)] * BATCH
        version["all"] += 1

    def singly() -> None:
        for i in range(BATCH):
            commit_cas = "SELECT harel_commit_cas(%s, 'orders', %s, %s, NULL)"
            assert session.execute(commit_cas, [f"one-{i}", data, version["one"]]).fetchone() == (True,)
        version["one"] += 1

    return at_once, singly
