"""Calls of a store by the contract, the same for ours and for that of the PyPI package harel: both import as harel."""

import time
from collections.abc import Callable
from itertools import count
from typing import Any

from harel import Event
from harel.engine.execution import Execution, Status
from harel.engine.store import TimerOp

EXECUTIONS = 100


def store_calls(store: Any, data: str) -> dict[str, Callable[[], Any]]:
    """One call of each method that the store has, over executions like the one in `data`, JSON at version 0."""
    exes = [Execution.model_validate_json(data) for _ in range(EXECUTIONS)]
    for n, exe in enumerate(exes):
        exe.id = f"exe-{n}"
        store.commit(exe, [], "first", trace={"n": 0})
    emits = [(f"target-{i}", Event(kind="Something", data={"n": i})) for i in range(3)]
    turns = count()

    def following() -> Any:
        return exes[next(turns) % EXECUTIONS]

    def commit() -> None:
        n = next(turns)
        timers = (TimerOp("schedule", "/paying", time.time() + 1e6), TimerOp("cancel", "/waiting"))
        spawns = ((f"child-{n}", "/order/shipping", {"n": n}),)
        store.commit(exes[n % EXECUTIONS], emits, f"event-{n}", timers=timers, spawns=spawns, trace={"n": n})

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
    return {name: call for name, call in calls.items() if hasattr(store, name)}
