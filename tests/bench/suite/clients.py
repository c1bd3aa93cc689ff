"""The methods of the store, beside psycopg by hand and beside the stores of peers."""

import json
import time
from collections.abc import Callable
from typing import Any

import psycopg

from harel import Event, PostgresStore, TimerOp

from ..harness import Bench, at_least
from ..network import delayed
from ..peer import Peer
from ..samples import sample

EXECUTIONS = 100
# What the peers' methods shall be beaten by, at these milliseconds a round trip.
GOALS = {
    ("save", 0): 1.5, ("commit", 0): 3.0, ("load", 0): 2.0,
    ("save", 1): 2.4, ("commit", 1): 8.0, ("load", 1): 2.6,
}  # fmt: skip


def save(bench: Bench) -> None:
    """store.save() beside an UPDATE of the same bytes by its id and version, on a psycopg connection in autocommit."""
    with bench.database() as dsn, psycopg.connect(dsn, autocommit=True) as session:
        session.execute("CREATE TABLE by_hand (LIKE executions INCLUDING ALL)")
        for kilobytes in (1, 10, 100):
            for wait in (False, True):
                store = PostgresStore.from_dsn(dsn)
                store.save(exe := sample(kilobytes))
                data = exe.model_dump_json()
                session.execute("INSERT INTO by_hand SELECT * FROM executions WHERE id = %s", [exe.id])
                for connection in (session, store._connection):
                    connection.execute(f"SET synchronous_commit = {'on' if wait else 'off'}")
                version = exe.version

                def update() -> None:
                    nonlocal version
                    cursor = session.execute(
                        "UPDATE by_hand SET data = %s, version = %s WHERE id = %s AND version = %s",
                        (data, version + 1, exe.id, version),
                    )
                    assert cursor.rowcount == 1
                    version += 1

                asked = kilobytes == 1
                bench.compare(
                    "store.save()", bench.rate(lambda: store.save(exe)),
                    "UPDATE by psycopg", bench.rate(update),
                    parameters=f"{kilobytes} KB, {'fsync' if wait else 'async'}",
                    goal=at_least(0.90) if asked else None,
                    rounds=3 if asked else 1,
                )  # fmt: skip
                store.close()


def store_calls(store: PostgresStore, kilobytes: int) -> dict[str, Callable[[], Any]]:
    """One call of each method that both stores have, over executions of that size."""
    exes = [sample(kilobytes) for _ in range(EXECUTIONS)]
    for exe in exes:
        store.commit(exe, [], "first", trace={"n": 0})
    emits = [(f"target-{i}", Event(kind="Something", data={"n": i})) for i in range(3)]
    turn = 0

    def following() -> Any:
        nonlocal turn
        turn += 1
        return exes[turn % EXECUTIONS]

    def commit() -> None:
        exe, n = following(), turn
        timers = (TimerOp("schedule", "/paying", time.time() + 1e6), TimerOp("cancel", "/waiting"))
        spawns = ((f"child-{n}", "/order/shipping", {"n": n}),)
        store.commit(exe, emits, f"event-{n}", timers=timers, spawns=spawns, trace={"n": n})

    return {
        "save": lambda: store.save(following()),
        "load": lambda: store.load(following().id),
        "load_for_event": lambda: store.load_for_event(following().id, "first"),
        "is_processed": lambda: store.is_processed(following().id, "first"),
        "append_trace": lambda: store.append_trace(following().id, {"n": turn}),
        "list_executions": lambda: store.list_executions(status=["RUNNING"], limit=50),
        "due_timers": lambda: store.due_timers(time.time()),
        "commit": commit,
    }


def peer_store(bench: Bench) -> None:
    """The store method by method, beside the one of harel 0.9.0 of PyPI, another project with the same contract."""
    for round_trip in (0, 1, 5):
        for kilobytes in (1, 10) if round_trip == 0 else (1,):
            with (
                bench.database() as dsn,
                bench.database(store=False) as theirs,
                delayed(dsn, round_trip / 1000) as target,
                delayed(theirs, round_trip / 1000) as peer_target,
                Peer("harel_store", peer_target, sample(kilobytes).model_dump_json()) as peer,
            ):
                store = PostgresStore.from_dsn(target)
                asked = [method for method, delay in GOALS if delay == round_trip] or ["save", "commit", "load"]
                for method, call in store_calls(store, kilobytes).items():
                    if method not in asked and (round_trip or kilobytes > 1):
                        continue
                    goal = GOALS.get((method, round_trip)) if kilobytes == 1 else None
                    bench.compare(
                        f"store.{method}()", bench.rate(call),
                        "harel 0.9.0",
                        (lambda method=method: peer.rate(method, seconds=bench.seconds))
                        if method in peer.offers
                        else None,
                        parameters=f"{kilobytes} KB, async, {round_trip} ms",
                        goal=at_least(goal) if goal else None,
                    )  # fmt: skip
                store.close()


def peer_snapshots(bench: Bench) -> None:
    """Saving and loading a state, beside put() and get_tuple() of langgraph-checkpoint-postgres."""
    for kilobytes in (1, 10):
        with bench.database() as dsn, bench.database(store=False) as theirs:
            with Peer("langgraph_snapshots", theirs) as peer:
                store = PostgresStore.from_dsn(dsn)
                calls = store_calls(store, kilobytes)
                data = json.loads(sample(kilobytes).model_dump_json())
                for method, operation in (("save", "put"), ("load", "get")):
                    bench.compare(
                        f"store.{method}()", bench.rate(calls[method]),
                        f"langgraph {operation}",
                        lambda operation=operation: peer.rate(operation, seconds=bench.seconds, data=data),
                        parameters=f"{kilobytes} KB, async",
                    )  # fmt: skip
                store.close()
