"""The store of the PyPI package harel, as it comes from from_dsn(): `SCRIPT DSN EXECUTION`, a sample as JSON."""

# ruff: noqa: I001 -- the peer's modules, which ruff would sort by what ours are called

import sys
import time
from itertools import count
from typing import Any

from harel import Event
from harel.engine.execution import Execution, Status
from harel.engine.store import PostgresStore, TimerOp

from serve import repeat, serve

EXECUTIONS = 100


def main() -> None:
    _, dsn, data = sys.argv
    store = PostgresStore.from_dsn(dsn)
    exes = [Execution.model_validate_json(data) for _ in range(EXECUTIONS)]
    for n, exe in enumerate(exes):
        exe.id, exe.version = f"exe-{n}", 0
        store.commit(exe, [], "first", trace={"n": 0})
    emits = [(f"target-{i}", Event(kind="Something", data={"n": i})) for i in range(3)]
    turns = count()

    def following() -> Any:
        return exes[next(turns) % EXECUTIONS]

    def commit() -> None:
        n = next(turns)
        exe = exes[n % EXECUTIONS]
        timers = (TimerOp("schedule", "/paying", time.time() + 1e6), TimerOp("cancel", "/waiting"))
        spawns = ((f"child-{n}", "/order/shipping", {"n": n}),)
        store.commit(exe, emits, f"event-{n}", timers=timers, spawns=spawns, trace={"n": n})

    calls = {
        "save": lambda: store.save(following()),
        "load": lambda: store.load(following().id),
        "load_for_event": lambda: store.load_for_event(following().id, "first"),
        "is_processed": lambda: store.is_processed(following().id, "first"),
        "append_trace": lambda: store.append_trace(following().id, {"n": 0}),
        "list_executions": lambda: store.list_executions(status=[Status.RUNNING], limit=50),
        "due_timers": lambda: store.due_timers(time.time()),
        "commit": commit,
    }
    calls = {name: call for name, call in calls.items() if hasattr(store, name)}
    serve({name: lambda seconds, call=call: repeat(call, seconds) for name, call in calls.items()})


if __name__ == "__main__":
    main()
