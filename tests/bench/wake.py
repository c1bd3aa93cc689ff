"""How soon an idle worker reacts to a publish, and how many statements it sends while it waits.

The time goes from the commit of the publish, on another connection, to the call of the machine in the worker.

    python tests/bench/wake.py [EVENTS]
"""

import asyncio
import random
import statistics
import sys
import time

import psycopg

from harel import AsyncPostgresTransport, Event, Execution, PostgresStore, Step
from harel.embedded import EmbeddedServer
from harel.worker import Worker

IDLE = 10


async def measure(dsn: str, events: int) -> None:
    called = asyncio.Event()
    called_at = 0.0
    times: list[float] = []

    def machine(exe: Execution, event: Event) -> Step:
        nonlocal called_at
        called_at = time.perf_counter()
        called.set()
        return Step(exe)

    worker = Worker(dsn, {"d": machine})
    transport = await AsyncPostgresTransport.from_dsn(dsn)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(worker.run())
        await transport.publish("e", Event(kind="warm-up"))
        await called.wait()
        for _ in range(events):
            called.clear()
            await asyncio.sleep(random.uniform(0.01, 0.5))
            await transport.publish("e", Event(kind="go"))
            published_at = time.perf_counter()
            await called.wait()
            times.append(max(called_at - published_at, 0.0))
        await asyncio.sleep(2)
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as session:
            count = "SELECT sum(calls)::int - 1 FROM pg_stat_statements WHERE toplevel"
            await session.execute("SELECT pg_stat_statements_reset()")
            await asyncio.sleep(IDLE)
            (statements,) = await (await session.execute(count)).fetchone() or (0,)
        worker.stop()
    await transport.close()
    times.sort()
    print(
        f"reaction: median {statistics.median(times) * 1e3:.1f} ms, p99 {times[int(len(times) * 0.99)] * 1e3:.1f} ms, "
        f"worst {times[-1] * 1e3:.1f} ms of {len(times)} (goal: p99 under 10); "
        f"idle: {statements / IDLE:.1f} statements a second (goal: under 3)"
    )


def main() -> None:
    (events,) = (int(argument) for argument in [*sys.argv[1:], "300"][:1])
    settings = {"shared_preload_libraries": "pg_stat_statements"}
    with EmbeddedServer(settings=settings) as server:
        with psycopg.connect(server.dsn) as session:
            session.execute("CREATE EXTENSION pg_stat_statements")
        store = PostgresStore.from_dsn(server.dsn)
        store.save(Execution(id="e", definition_id="d", status="RUNNING"))
        store.close()
        asyncio.run(measure(server.dsn, events))


if __name__ == "__main__":
    main()
