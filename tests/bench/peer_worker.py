"""The peer of worker.py: AsyncWorker of the PyPI package harel 0.9.0, on its own PostgreSQL store and transport.

Both packages import as harel, so this runs in the peer's environment, as a process that worker.py starts:

    PEER_PYTHON -I peer_worker.py fill DSN EXECUTIONS EVENTS
    PEER_PYTHON -I peer_worker.py work DSN CONCURRENCY POOL
"""

# ruff: noqa: I001 -- the peer's modules, which ruff would sort by what ours are called

import asyncio
import signal
import sys

from harel import Event, definition_from_dsl
from harel.engine.aio.distributed import AsyncWorker
from harel.engine.aio.durable import AsyncDurableRunner
from harel.engine.aio_store import AsyncPostgresStore
from harel.engine.aio_transport import AsyncPostgresTransport

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


async def fill(dsn: str, executions: int, events: int) -> None:
    """Executions that stand in state a, and the events of each in its queue."""
    store = await AsyncPostgresStore.from_dsn(dsn)
    transport = await AsyncPostgresTransport.from_dsn(dsn)
    runner = AsyncDurableRunner(store, DEFINITIONS)
    ids = [(await runner.create("toggle")).id for _ in range(executions)]
    for n in range(events):
        await asyncio.gather(*(transport.publish(id_, Event(kind=("Go", "Back")[n % 2])) for id_ in ids))
    await transport.close()
    await store.close()


async def work(dsn: str, concurrency: int, pool: int) -> None:
    """Says when it is ready, starts at a line of input and ends at SIGTERM."""
    store = await AsyncPostgresStore.from_dsn(dsn, pool_size=pool)
    transport = await AsyncPostgresTransport.from_dsn(dsn, pool_size=pool)
    worker = AsyncWorker(store, transport, DEFINITIONS, concurrency=concurrency)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await worker.run(stop)
    await transport.close()
    await store.close()


if __name__ == "__main__":
    command, dsn, *numbers = sys.argv[1:]
    asyncio.run({"fill": fill, "work": work}[command](dsn, *map(int, numbers)))
