"""The methods of the store, beside psycopg by hand and beside the stores of peers."""

import json
from contextlib import closing

import psycopg

from harel import PostgresStore

from ..harness import Bench, at_least, with_disk
from ..network import delayed
from ..peer import Peer
from ..peers.store_calls import store_calls
from ..samples import sample

# How many times as fast as the peer's a method shall be, at so many milliseconds a round trip.
GOALS = {
    0: {"save": 1.5, "commit": 3.0, "load": 2.0},
    1: {"save": 2.4, "commit": 8.0, "load": 2.6},
    5: dict.fromkeys(("save", "commit", "load")),
}


def save(bench: Bench) -> None:
    """store.save() beside an UPDATE of the same bytes by its id and version, on a psycopg connection in autocommit."""
    with bench.database() as dsn:
        for kilobytes in (1, 10, 100):
            for disk in ("async", "fsync"):
                _save(bench, with_disk(dsn, disk), kilobytes, disk)


def _save(bench: Bench, dsn: str, kilobytes: int, disk: str) -> None:
    exe = sample(kilobytes)
    with closing(PostgresStore.from_dsn(dsn)) as store, psycopg.connect(dsn, autocommit=True) as session:
        store.save(exe)
        session.execute("CREATE TABLE IF NOT EXISTS by_hand (LIKE executions INCLUDING ALL)")
        session.execute("INSERT INTO by_hand SELECT * FROM executions WHERE id = %s", [exe.id])
        data, version = exe.model_dump_json(), exe.version

        def update() -> None:
            nonlocal version
            cursor = session.execute(
                "UPDATE by_hand SET data = %s, version = %s WHERE id = %s AND version = %s",
                (data, version + 1, exe.id, version),
            )
            assert cursor.rowcount == 1
            version += 1

        bench.compare(
            "store.save()", bench.rate(lambda: store.save(exe)), "UPDATE by psycopg", bench.rate(update),
            parameters=f"{kilobytes} KB, {disk}",
            goal=at_least(0.90) if kilobytes == 1 else None,
            rounds=3 if kilobytes == 1 else 1,
        )  # fmt: skip


def peer_store(bench: Bench) -> None:
    """The store method by method, beside the one of harel 0.9.0 of PyPI, another project with the same contract."""
    for round_trip in GOALS:
        _peer_store(bench, round_trip, 1)
    _peer_store(bench, 0, 10)


def _peer_store(bench: Bench, round_trip: int, kilobytes: int) -> None:
    seconds, data = round_trip / 1000, sample(kilobytes).model_dump_json()
    with (
        bench.database() as our_dsn,
        bench.database(store=False) as their_dsn,
        delayed(our_dsn, seconds) as our_target,
        delayed(their_dsn, seconds) as their_target,
        closing(PostgresStore.from_dsn(our_target)) as store,
        Peer("harel_store", their_target, data) as peer,
    ):
        goals = GOALS[round_trip] if kilobytes == 1 else dict.fromkeys(GOALS[round_trip])
        for method, call in store_calls(store, data).items():
            if method in goals or (round_trip == 0 and kilobytes == 1):
                goal = goals.get(method)
                bench.compare(
                    f"store.{method}()", bench.rate(call),
                    "harel 0.9.0", peer.block(method, seconds=bench.seconds),
                    parameters=f"{kilobytes} KB, async, {round_trip} ms",
                    goal=at_least(goal) if goal else None,
                )  # fmt: skip


def peer_snapshots(bench: Bench) -> None:
    """Saving and loading a state, beside put() and get_tuple() of langgraph-checkpoint-postgres."""
    for kilobytes in (1, 10):
        data = sample(kilobytes).model_dump_json()
        with (
            bench.database() as dsn,
            bench.database(store=False) as their_dsn,
            closing(PostgresStore.from_dsn(dsn)) as store,
            Peer("langgraph_snapshots", their_dsn) as peer,
        ):
            calls = store_calls(store, data)
            for method, operation in (("save", "put"), ("load", "get")):
                bench.compare(
                    f"store.{method}()", bench.rate(calls[method]),
                    f"langgraph {operation}", peer.block(operation, seconds=bench.seconds, data=json.loads(data)),
                    parameters=f"{kilobytes} KB, async",
                )  # fmt: skip
