"""Pages of a million executions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg

from ..harness import Bench, Comparison, at_least, at_most
from ..peer import Own

EXECUTIONS = 1_000_000
PAGE = 50
PAGES = 10_000
CALLS = 50
PARAMETERS = f"{PAGE} of 1,000,000"

# Ids in no order, of 10 definitions; 6 of 10 are DONE, 1 of 2,000 FAILED, the others RUNNING; 1 of 5 is a child.
MILLION = """
INSERT INTO executions (id, definition_id, data, version, status, active_path, parent_id)
SELECT
    s.id, s.definition_id,
    format(
        '{"id":"%%s","definition_id":"%%s","status":"%%s","outcome":null,"active_path":"/order/paying","parent_id":%%s,'
        '"context":{"customer":%%s,"lines":[{"article":%%s,"amount":2},{"article":%%s,"amount":1}],"note":"%%s"},'
        '"children":{},"version":1}',
        s.id, s.definition_id, s.status, coalesce(to_json(s.parent_id)::text, 'null'), i, i, i, repeat('note ', 30)
    ),
    1, s.status, '/order/paying', s.parent_id
FROM
    generate_series(1, %(rows)s) AS i,
    LATERAL (
        SELECT
            md5(i::text) AS id,
            CASE WHEN i %% 10 < 6 THEN 'orders' ELSE 'claims-' || i %% 10 END AS definition_id,
            CASE WHEN i %% 2000 = 0 THEN 'FAILED' WHEN i / 7 %% 10 < 6 THEN 'DONE' ELSE 'RUNNING' END AS status,
            CASE WHEN i %% 5 = 0 THEN md5((i - 1)::text) END AS parent_id
    ) AS s
"""

# Each filter as arguments of harel_list(), and as a condition on data.
FILTERS = {
    "status DONE": ("NULL, ARRAY['DONE'], false", "data::jsonb ->> 'status' = 'DONE'"),
    "definition": ("'orders', NULL, false", "data::jsonb ->> 'definition_id' = 'orders'"),
    "roots": ("NULL, NULL, true", "data::jsonb ->> 'parent_id' IS NULL"),
    "status FAILED": ("NULL, ARRAY['FAILED'], false", "data::jsonb ->> 'status' = 'FAILED'"),
}


@contextmanager
def million(bench: Bench) -> Iterator[tuple[str, "psycopg.Connection[Any]"]]:
    """A store with a million executions of 0.5 KB, kept for the benchmarks that read it, and a session on it."""

    def fill(dsn: str) -> None:
        with psycopg.connect(dsn, autocommit=True) as session:
            with psycopg.ClientCursor(session) as cursor:
                cursor.execute(MILLION, {"rows": bench.size(EXECUTIONS, 1000)})
            session.execute("VACUUM ANALYZE executions")
            session.execute("CHECKPOINT")

    dsn = bench.kept("million", fill)
    with psycopg.connect(dsn, autocommit=True) as session:
        yield dsn, session


def listing(bench: Bench) -> None:
    """A page by harel_list(), the first and the 10,000th, beside the same filter on data::jsonb with OFFSET."""
    with million(bench) as (_, session):
        for name, (arguments, condition) in FILTERS.items():
            _pages(bench, session, name, arguments, condition)


def _pages(
    bench: Bench, session: "psycopg.Connection[Any]", name: str, arguments: LiteralString, condition: LiteralString
) -> None:
    skipped = PAGE * (PAGES - 1) if bench.scale == 1 else 2 * PAGE
    (cursor,) = session.execute(f"SELECT max(next_cursor) FROM harel_list({arguments}, {skipped:d})").fetchone() or (
        None,
    )

    def by_function(cursor: str | None) -> Callable[[], Any]:
        query = f"SELECT id, status, next_cursor FROM harel_list({arguments}, {PAGE:d}, %s)"
        return lambda: session.execute(query, [cursor], prepare=True).fetchall()

    def by_offset(offset: int) -> Callable[[], Any]:
        query = (
            "SELECT id, data::jsonb ->> 'status' FROM executions "
            f"WHERE {condition} ORDER BY id LIMIT {PAGE:d} OFFSET {offset:d}"
        )
        return lambda: session.execute(query).fetchall()

    pages = {"first": (None, 0)} | ({"10,000th": (cursor, skipped)} if cursor else {})
    for place, (after, offset) in pages.items():
        ours, theirs = by_function(after), by_offset(offset)
        assert [row[0] for row in ours()] == [row[0] for row in theirs()]
        bench.compare(
            f"{place} page by {name}, data::jsonb with OFFSET", bench.median_time(theirs, 1),
            "harel_list()", bench.median_time(ours, CALLS),
            parameters=PARAMETERS, unit="s", goal=at_least(100),
        )  # fmt: skip
    if cursor:
        bench.compare(
            f"10,000th page by {name}", bench.median_time(by_function(cursor), CALLS),
            "first page", bench.median_time(by_function(None), CALLS),
            parameters=PARAMETERS, unit="s", goal=at_most(1.5),
        )  # fmt: skip


def walk(bench: Bench) -> None:
    """The memory of a client that walks a million executions by pages, beside what it was after the first page."""
    with million(bench) as (dsn, _), Own(dsn) as ours:
        memory = ours.ask("walk", limit=min(1000, bench.size(1000, 100)), parts=5)["memory"]
        first, *later = (bytes_ / 2**20 for bytes_ in memory)
        comparison = Comparison(
            bench.current, "memory while walking 1,000,000 executions", "after the first page", "pages of 1,000", "MB",
            at_most(1.1), [(value, first) for value in later],
        )  # fmt: skip
        bench.add(comparison)
