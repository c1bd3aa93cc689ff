"""Our own side where it must be a process of its own: driven like a peer, as `python -m bench.own DSN`."""

import asyncio
import sys
import threading
import time
from typing import Any

import psutil
import psycopg

from harel import Event, Execution, PostgresStore, PostgresTransport, Step
from harel.worker import Worker

from .peers.serve import serve

KINDS = ("Go", "Back")
TRANSITIONS = {("a", "Go"): "b", ("b", "Back"): "a"}


def drain(dsn: str, executions: int, events: int) -> dict[str, Any]:
    """Executions that toggle, with so many events each: from the worker's first step until the queue is empty."""
    store, transport = PostgresStore.from_dsn(dsn), PostgresTransport.from_dsn(dsn)
    session = psycopg.connect(dsn, autocommit=True)
    session.execute("TRUNCATE executions, processed_events")
    ids = []
    for _ in range(executions):
        store.save(exe := Execution(definition_id="toggle", status="RUNNING", active_path="a"))
        ids.append(exe.id)
    for n in range(events):
        transport.publish_many([(id_, Event(kind=KINDS[n % 2])) for id_ in ids])
    session.execute("VACUUM ANALYZE")
    times: list[float] = []

    def step(execution: Execution, event: Event) -> Step:
        if not times:
            times.append(time.perf_counter())
        path = TRANSITIONS[str(execution.active_path), event.kind]
        return Step(execution.model_copy(update={"active_path": path}))

    worker = Worker(dsn, {"toggle": step})

    def watch(stop: Any) -> None:
        while session.execute("SELECT 1 FROM transport_messages LIMIT 1").fetchone():
            time.sleep(0.01)
        times.append(time.perf_counter())
        stop()

    async def work() -> None:
        loop = asyncio.get_running_loop()
        watcher = threading.Thread(target=watch, args=(lambda: loop.call_soon_threadsafe(worker.stop),))
        watcher.start()
        await worker.run()
        watcher.join()

    asyncio.run(work())
    found = session.execute("SELECT count(*), sum(version) FROM executions").fetchone()
    # The first commit made the execution.
    if found != (executions, executions * (1 + events)):
        raise RuntimeError(f"not every event was applied once: {found}")
    session.close()
    transport.close()
    store.close()
    return {"count": executions * events, "seconds": times[1] - times[0]}


def walk(dsn: str, limit: int, parts: int) -> dict[str, Any]:
    """Lists all executions by pages: how many, and the bytes of memory after the first page and each part of them."""
    store, process = PostgresStore.from_dsn(dsn), psutil.Process()
    with psycopg.connect(dsn) as session:
        (total,) = session.execute("SELECT count(*) FROM executions").fetchone() or (0,)
    page = store.list_executions(limit=limit)
    count, memory = len(page.items), [process.memory_info().rss]
    while page.next_cursor:
        page = store.list_executions(limit=limit, cursor=page.next_cursor)
        count += len(page.items)
        if count >= total * len(memory) / parts:
            memory.append(process.memory_info().rss)
    store.close()
    if count != total:
        raise RuntimeError(f"{count} executions on the pages, of {total}")
    return {"count": count, "memory": memory}


if __name__ == "__main__":
    dsn = sys.argv[1]
    serve({"drain": lambda **sizes: drain(dsn, **sizes), "walk": lambda **sizes: walk(dsn, **sizes)})
