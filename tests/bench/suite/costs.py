"""What a commit, and an event of a worker, cost the server: statements, time, WAL and buffers."""

from collections.abc import Callable
from contextlib import closing
from itertools import cycle
from typing import Any

import psycopg

from harel import PostgresStore
from harel.embedded import EmbeddedServer

from ..harness import SETTINGS, Bench, Comparison
from ..peer import Own
from ..samples import sample
from .commits import complex_commits
from .workers import EVENTS

CALLS = 200
# WAL without the record of the commit itself, which belongs to no statement.
COUNTED = """
    SELECT
        sum(calls), sum(total_exec_time) * 1000, sum(wal_bytes), sum(shared_blks_dirtied),
        sum(shared_blks_hit + shared_blks_read)
    FROM pg_stat_statements WHERE toplevel AND query ~ %s
"""
UNITS = ("statements", "us of execution", "bytes of WAL", "buffers dirtied", "buffers read")
WORKERS = "harel_(next|finish|tick)"

Costs = Callable[[], list[float]]


def cost(bench: Bench) -> None:
    """Statements, time, WAL and buffers: of commits beside the same by hand, of a worker's event beside a commit."""
    # Without the images of pages that the first change after a checkpoint writes: how many, depends on its distance.
    settings = {**SETTINGS, "shared_preload_libraries": "pg_stat_statements", "full_page_writes": "off"}
    with EmbeddedServer(settings=settings) as server:
        counting = Bench(server, bench.rounds, bench.seconds, bench.scale)
        executions = calls = bench.size(CALLS, 10)
        with (
            counting.database() as dsn,
            counting.database() as worker_dsn,
            psycopg.connect(dsn, autocommit=True) as session,
            closing(PostgresStore.from_dsn(dsn)) as store,
            complex_commits(dsn, 1, calls) as (by_commit, by_statements),
            Own(worker_dsn) as ours,
        ):
            session.execute("CREATE EXTENSION pg_stat_statements")
            save, update = _fast_commits(store, session, executions)

            def by(call: Callable[[], Any]) -> Costs:
                return lambda: _costs(session, lambda: [call() for _ in range(calls)], calls, "")

            def by_worker() -> list[float]:
                def drain() -> None:
                    ours.ask("drain", executions=executions, events=EVENTS)

                return _costs(session, drain, executions * EVENTS, WORKERS)

            _compare(bench, "store.save()", by(save), "UPDATE by hand", by(update))
            _compare(bench, "store.commit(), complex", by(by_commit), "the same rows by hand", by(by_statements))
            _compare(bench, "an event of a worker", by_worker, "store.save()", by(save))


def _compare(bench: Bench, what: str, a: Costs, against: str, b: Costs) -> None:
    rounds = [(a(), b()) for _ in range(bench.rounds)]
    for place, unit in enumerate(UNITS):
        pairs = [(ours[place], theirs[place]) for ours, theirs in rounds]
        bench.add(Comparison(bench.current, what, against, f"{unit}, 1 KB", unit, None, pairs))


def _costs(session: "psycopg.Connection[Any]", action: Callable[[], Any], count: int, pattern: str) -> list[float]:
    """Of each of UNITS how many one of `count` cost, in statements that match the pattern, after a checkpoint."""
    session.execute("CHECKPOINT")
    session.execute("SELECT pg_stat_statements_reset()")
    action()
    pattern = pattern or "^(SELECT [^;]*harel_|UPDATE|INSERT|DELETE|BEGIN|COMMIT)"
    (*sums,) = session.execute(COUNTED, [pattern]).fetchone() or ()
    return [float(number) / count for number in sums]


def _fast_commits(
    store: PostgresStore, session: "psycopg.Connection[Any]", executions: int
) -> tuple[Callable[[], None], Callable[[], None]]:
    """A commit of a state that changes each time, of one execution after another, by the store and by an UPDATE."""
    exes = [sample() for _ in range(executions)]
    for exe in exes:
        store.save(exe)
    session.execute("CREATE TABLE by_hand (LIKE executions INCLUDING ALL)")
    session.execute("INSERT INTO by_hand SELECT * FROM executions")
    our_turn, other_turn = cycle(exes), cycle([exe.model_copy(deep=True) for exe in exes])

    def save() -> None:
        exe = next(our_turn)
        exe.context["events"].append(exe.context["events"].pop(0))
        store.save(exe)

    def update() -> None:
        exe = next(other_turn)
        exe.context["events"].append(exe.context["events"].pop(0))
        exe.version += 1
        cursor = session.execute(
            "UPDATE by_hand SET data = %s, version = %s WHERE id = %s AND version = %s",
            (exe.model_dump_json(), exe.version, exe.id, exe.version - 1),
        )
        assert cursor.rowcount == 1

    return save, update
