"""AsyncWorker of the PyPI package harel, on its own PostgreSQL store and transport: `SCRIPT DSN`."""

# ruff: noqa: I001 -- the peer's modules, which ruff would sort by what ours are called

import asyncio
import sys
import time
from typing import Any

import psycopg
from harel import Event, definition_from_dsl
from harel.engine.aio.distributed import AsyncWorker
from harel.engine.aio.durable import AsyncDurableRunner
from harel.engine.aio_store import AsyncPostgresStore
from harel.engine.aio_transport import AsyncPostgresTransport

from serve import serve

MACHINE = """
event Go {}
event Back {}

machine toggle {
  initial a
  state a {}
  state b {}
  from a to b on Go
  from b to a on Back
}
"""
DEFINITIONS = {"toggle": definition_from_dsl(MACHINE, "toggle")}
# Of concurrency 4 to 256 and pools of 4 to 32, none was faster than these beyond the noise.
CONCURRENCY = 256
POOL = 10


async def drain(dsn: str, executions: int, events: int) -> dict[str, Any]:
    """Executions that toggle, with so many events each: from the start of the worker until the queue is empty."""
    store = await AsyncPostgresStore.from_dsn(dsn, pool_size=POOL)
    transport = await AsyncPostgresTransport.from_dsn(dsn, pool_size=POOL)
    session = await psycopg.AsyncConnection.connect(dsn, autocommit=True)
    await session.execute("TRUNCATE harel_executions, harel_processed_events")
    runner = AsyncDurableRunner(store, DEFINITIONS)
    ids = [(await runner.create("toggle")).id for _ in range(executions)]
    for n in range(events):
        await asyncio.gather(*(transport.publish(id_, Event(kind=("Go", "Back")[n % 2])) for id_ in ids))
    await session.execute("VACUUM ANALYZE")
    stop = asyncio.Event()
    worker = AsyncWorker(store, transport, DEFINITIONS, concurrency=CONCURRENCY)
    start = time.perf_counter()
    task = asyncio.create_task(worker.run(stop))
    while True:
        cursor = await session.execute("SELECT EXISTS (SELECT FROM harel_transport_messages)")
        if (await cursor.fetchone()) == (False,):
            break
        await asyncio.sleep(0.01)
    seconds = time.perf_counter() - start
    stop.set()
    await task
    cursor = await session.execute("SELECT count(*), sum(version) FROM harel_executions")
    # The first commit made the execution.
    found = await cursor.fetchone()
    if found != (executions, executions * (1 + events)):
        raise RuntimeError(f"not every event was applied once: {found}")
    await session.close()
    await transport.close()
    await store.close()
    return {"count": executions * events, "seconds": seconds}


if __name__ == "__main__":
    serve({"drain": lambda **sizes: asyncio.run(drain(sys.argv[1], **sizes))})
