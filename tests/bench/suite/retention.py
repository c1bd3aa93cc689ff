"""Removing and finding single executions among a million."""

from itertools import count

from ..harness import Bench, at_most
from .listing import EXECUTIONS, million

CALLS = 100


def purge(bench: Bench) -> None:
    """harel_purge() of an execution with a trace, a timer and a ledger, beside a descent of the index to its row."""
    rows = bench.size(EXECUTIONS, 1000)
    with million(bench) as (_, session):
        (data,) = session.execute("SELECT data FROM executions LIMIT 1").fetchone() or ("",)
        turns = count()
        name = f"purged-{session.info.backend_pid}"
        made: list[str] = []

        def make() -> None:
            id_ = f"{name}-{next(turns)}"
            session.execute(
                "SELECT harel_commit(%s, 'orders', %s, 0, 'event', p_timer_actions => '{schedule}', "
                "p_timer_paths => '{/paying}', p_timer_fire_ats => '{1e10}', p_trace => '{}')",
                [id_, data],
            )
            made.append(id_)

        def purge_one() -> None:
            row = session.execute("SELECT harel_purge(%s, 1)", [made.pop()], prepare=True).fetchone()
            assert row == (True,)

        def descend() -> None:
            key = next(turns) * 7919 % rows + 1
            row = session.execute(
                "SELECT version FROM executions WHERE id = md5(%s::text)", [key], prepare=True
            ).fetchone()
            assert row == (1,)

        make()
        bench.compare(
            "harel_purge() of one of 1,000,000", bench.median_time(purge_one, CALLS, lambda _: make()),
            "an index descent", bench.median_time(descend, CALLS),
            parameters="async", unit="s", goal=at_most(3), rounds=2,
        )  # fmt: skip


def prefix(bench: Bench) -> None:
    """harel_ids_with_prefix() of one execution's full id among a million, beside a descent of the index to its row."""
    rows = bench.size(EXECUTIONS, 1000)
    with million(bench) as (_, session):
        turns = count()

        def run(query: str) -> None:
            key = next(turns) * 7919 % rows + 1
            found = session.execute(query, [key], prepare=True).fetchall()
            assert len(found) == 1

        search = "SELECT harel_ids_with_prefix(left(md5(%s::text), 20))"
        bench.compare(
            "harel_ids_with_prefix() in 1,000,000", bench.median_time(lambda: run(search), CALLS),
            "an index descent",
            bench.median_time(lambda: run("SELECT id FROM executions WHERE id = md5(%s::text)"), CALLS),
            parameters="async", unit="s", goal=at_most(3), rounds=2,
        )  # fmt: skip
