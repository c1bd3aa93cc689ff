"""The pages on a large store. HAREL_SCALE says how many executions that has."""

import os
import time
from typing import Any

import psycopg
import pytest
from visits import PAGES, Open, of

from harel.functions import Functions
from harel.ui import watch

EXECUTIONS = int(os.environ.get("HAREL_SCALE") or 1_000_000)

# Seconds of the database for a page.
LIMIT = 0.3

DATA = """{"version": 3, "status": "RUNNING", "active_path": "/shop/packing", "context": {"amount": 1990}}"""

FILL = (
    """
    INSERT INTO executions (id, definition_id, data, version, status, active_path, parent_id, finished_at, created_at)
    SELECT
        'order-' || lpad(n::text, 8, '0'), 'definition ' || n %% 5, %(data)s, 3, s.status, '/shop/' || s.state,
        CASE WHEN n %% 3 <> 0 THEN 'order-' || lpad((n - n %% 3)::text, 8, '0') END,
        CASE WHEN s.status = 'DONE' THEN now() - interval '1 day' END, now() - n * interval '1 second'
    FROM generate_series(0, %(n)s - 1) n
    CROSS JOIN LATERAL (
        SELECT
            CASE WHEN n %% 10 < 7 THEN 'DONE' WHEN n %% 1000 = 8 THEN 'FAILED' WHEN n %% 100 = 9 THEN 'SUSPENDED'
                ELSE 'RUNNING' END AS status,
            CASE WHEN n %% 10 < 7 THEN 'delivered' WHEN n %% 2 = 0 THEN 'packing' ELSE 'paying' END AS state
    ) s
    """,
    """
    INSERT INTO trace (execution_id, idx, entry, recorded_at)
    SELECT
        'order-' || lpad(n::text, 8, '0'), i,
        format('{"event": "E%%s", "from": "/shop/%%s", "to": "/shop/%%s"}', i, i, i + 1),
        now() - (%(n)s - n) * interval '1 second' + i * interval '1 minute'
    FROM generate_series(0, %(n)s - 1) n, generate_series(0, 2) i
    """,
    """
    INSERT INTO timers (execution_id, path, fire_at)
    SELECT 'order-' || lpad(n::text, 8, '0'), '/shop', extract(epoch FROM now()) + n - 1000
    FROM generate_series(0, %(n)s - 1, 10) n
    """,
    """
    INSERT INTO outbox (target_id, event, source_id)
    SELECT NULL, '{"kind": "Told"}', 'order-00000000' FROM generate_series(1, %(n)s / 10) n
    """,
    """
    SELECT harel_publish_many(
        array_agg('order-' || lpad(n::text, 8, '0')), array_agg('{"kind": "Go", "id": "' || n || '"}')
    ) FROM generate_series(0, %(n)s - 1, 10) n
    """,
    """
    INSERT INTO dead_letters (group_id, seq, event, reason, attempts, published_at)
    SELECT 'order-' || lpad((n %% 1000)::text, 8, '0'), n, '{"kind": "Dead"}', 'KeyError', 20, now()
    FROM generate_series(1, %(n)s / 10) n
    """,
)  # fmt: skip


@pytest.mark.soak
def test_every_page_of_a_large_store_costs_the_database_little(
    console: Open, postgresql: "psycopg.Connection[Any]", monkeypatch: pytest.MonkeyPatch
) -> None:
    session = postgresql
    session.autocommit = True
    begun = time.perf_counter()
    for statement in FILL:
        session.execute(statement, {"n": EXECUTIONS, "data": DATA})
    session.execute("SELECT harel_claim('worker', 600, 500)")
    session.execute("VACUUM ANALYZE")
    print(f"{EXECUTIONS:,} executions filled in {time.perf_counter() - begun:.0f} s")

    spent: list[float] = []
    rows = Functions.rows

    def timed(self: Functions, function: str, **arguments: Any) -> list[dict[str, Any]]:
        started = time.perf_counter()
        try:
            return rows(self, function, **arguments)
        finally:
            spent.append(time.perf_counter() - started)

    monkeypatch.setattr(Functions, "rows", timed)
    # Each look reads all anew.
    monkeypatch.setattr(watch, "FRESH", 0.0)
    monkeypatch.setattr(watch, "SETTLED", 0.0)
    client = console()
    assert "A sample of" in client.get("/flow?definition=definition+1").text
    figures = {}
    for path in (
        *PAGES, "/executions?status=RUNNING&definition=definition+1", "/executions?roots=1", "/executions?q=order-0",
        "/flow?definition=definition+1", "/queue?state=waiting", "/queue?state=leased",
        "/dead-letters?group=order-00000001",
        of(f"order-{EXECUTIONS // 2 // 3 * 3:08}"), of("order-00000001", picture="1"),
    ):  # fmt: skip
        taken, whole = [], []
        for _ in range(5):
            spent.clear()
            started = time.perf_counter()
            assert client.get(path).status_code == 200
            whole.append(time.perf_counter() - started)
            taken.append((sum(spent), len(spent)))
        seconds, statements = sorted(taken)[2]
        figures[path] = seconds
        print(f"{path}: {seconds * 1000:.0f} ms in {statements} statements, {sorted(whole)[2] * 1000:.0f} ms in all")
    assert {path: seconds for path, seconds in figures.items() if seconds > LIMIT} == {}
