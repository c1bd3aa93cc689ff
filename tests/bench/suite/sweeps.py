"""Firing timers where many are armed."""

import time
from typing import Any

import psycopg

from ..harness import Bench, at_most

TIMERS = 1_000_000
DUE = 1000
CALLS = 50


def sweep(bench: Bench) -> None:
    """harel_fire_timers() with a million armed timers: none due beside an empty table, 1,000 due beside 1,000 deletes."""
    armed, due = bench.size(TIMERS, 2000), bench.size(DUE, 20)
    with bench.database() as full_dsn, bench.database() as empty_dsn:
        with psycopg.connect(full_dsn, autocommit=True) as full, psycopg.connect(empty_dsn, autocommit=True) as empty:
            now = time.time()
            arm = (
                "INSERT INTO {} (execution_id, path, fire_at) "
                "SELECT md5(i::text), '/order/paying', %s + i FROM generate_series(%s::int, %s::int) AS i"
            )
            full.execute("CREATE TABLE by_hand (LIKE timers INCLUDING ALL)")
            for table in ("timers", "by_hand"):
                full.execute(arm.format(table), [now + 1e6, 1, armed])  # type: ignore[arg-type]
            full.execute("VACUUM ANALYZE")
            empty.execute("VACUUM ANALYZE")

            def fire(session: "psycopg.Connection[Any]") -> int:
                row = session.execute("SELECT harel_fire_timers()", prepare=True).fetchone()
                assert row
                return int(row[0])

            bench.compare(
                "sweep, 1,000,000 timers, none due", bench.median_time(lambda: fire(full), CALLS),
                "empty table", bench.median_time(lambda: fire(empty), CALLS),
                parameters="async", unit="s", goal=at_most(1.5), rounds=2,
            )  # fmt: skip

            made = armed

            def make_due(table: str) -> list[tuple[str, str]]:
                nonlocal made
                full.execute(arm.format(table), [now - 1e9, made + 1, made + due])  # type: ignore[arg-type]
                made += due
                rows = full.execute(
                    f"SELECT execution_id, path FROM {table} WHERE fire_at < %s",
                    [now],  # type: ignore[arg-type]
                ).fetchall()
                return [(row[0], row[1]) for row in rows]

            def fired() -> float:
                make_due("timers")
                start = time.perf_counter()
                assert fire(full) == due
                seconds = time.perf_counter() - start
                full.execute("TRUNCATE transport_groups, transport_messages")
                return seconds

            def deleted() -> float:
                keys = make_due("by_hand")
                start = time.perf_counter()
                with full.transaction():
                    for key in keys:
                        full.execute("DELETE FROM by_hand WHERE execution_id = %s AND path = %s", key)
                return time.perf_counter() - start

            bench.compare(
                "sweep, 1,000 due", fired, "1,000 deletes by key, in one transaction", deleted,
                parameters="async, 1,000,000 armed", unit="s", goal=at_most(2), rounds=2,
            )  # fmt: skip
