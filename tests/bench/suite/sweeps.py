"""Firing timers where many are armed."""

import time
from itertools import count
from typing import Any

import psycopg

from ..harness import Bench, Block, at_most

TIMERS = 1_000_000
DUE = 1000
CALLS = 50


ARM = (
    "INSERT INTO {} (execution_id, path, fire_at) "
    "SELECT md5(i::text), '/order/paying', %s + i FROM generate_series(%s::int, %s::int) AS i"
)


def sweep(bench: Bench) -> None:
    """harel_fire_timers() with a million armed timers: none due, beside an empty table; 1,000 due, beside deletes."""
    armed = bench.size(TIMERS, 2000)
    with (
        bench.database() as full_dsn,
        bench.database() as empty_dsn,
        psycopg.connect(full_dsn, autocommit=True) as full,
        psycopg.connect(empty_dsn, autocommit=True) as empty,
    ):
        full.execute("CREATE TABLE by_hand (LIKE timers INCLUDING ALL)")
        for table in ("timers", "by_hand"):
            _arm(full, table, time.time() + 1e6, 1, armed)
        for session in (full, empty):
            session.execute("VACUUM ANALYZE")
        bench.compare(
            "sweep, 1,000,000 timers, none due", bench.median_time(lambda: _fire(full), CALLS),
            "empty table", bench.median_time(lambda: _fire(empty), CALLS),
            parameters="async", unit="s", goal=at_most(1.5), rounds=2,
        )  # fmt: skip
        fired, deleted = _due(full, armed, bench.size(DUE, 20))
        bench.compare(
            "sweep, 1,000 due", fired, "1,000 deletes by key, in one transaction", deleted,
            parameters="async, 1,000,000 armed", unit="s", goal=at_most(2), rounds=2,
        )  # fmt: skip


def _arm(session: "psycopg.Connection[Any]", table: str, fire_at: float, first: int, last: int) -> None:
    session.execute(ARM.format(table), [fire_at, first, last])


def _fire(session: "psycopg.Connection[Any]") -> int:
    (fired,) = session.execute("SELECT harel_fire_timers()", prepare=True).fetchone() or (0,)
    return int(fired)


def _due(session: "psycopg.Connection[Any]", armed: int, due: int) -> tuple[Block, Block]:
    """Seconds to fire so many due timers beside those armed, and to delete as many rows by their keys."""
    firsts = count(armed + 1, due)

    def make_due(table: str) -> list[tuple[Any, ...]]:
        first = next(firsts)
        _arm(session, table, 0, first, first + due - 1)
        return session.execute(
            f"SELECT execution_id, path FROM {table} WHERE fire_at < %s",
            [time.time()],
        ).fetchall()

    def fired() -> float:
        make_due("timers")
        start = time.perf_counter()
        assert _fire(session) == due
        seconds = time.perf_counter() - start
        session.execute("TRUNCATE transport_groups, transport_messages")
        return seconds

    def deleted() -> float:
        keys = make_due("by_hand")
        start = time.perf_counter()
        with session.transaction():
            for key in keys:
                session.execute("DELETE FROM by_hand WHERE execution_id = %s AND path = %s", key)
        return time.perf_counter() - start

    return fired, deleted
