"""PgQueuer: jobs are published one by one and in bulk, and drained by one worker in this process."""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import uvloop
from pgqueuer import AsyncpgDriver, Job, Queries, QueueManager
from psycopg.conninfo import conninfo_to_dict
from serve import Answer, serve

# The worker takes and records jobs by batches. 200 drained 19666 jobs a second, 100 and 500 18553 and 18776, a pool of
# 3 connections in place of one 18692, asyncio without uvloop 17708 (medians of 14 runs by turns, 2 CPUs): close to the
# noise, but 10, the default, has about half of it. psycopg in place of asyncpg was not faster, and takes 3 s to end.
# The settings for autovacuum made no clear difference. All tables are logged (durability "durable", the default).
BATCH_SIZE = 200
ENQUEUE_BATCH = 1000
DRAIN_LIMIT = 600.0  # seconds


async def connect(dsn: str) -> asyncpg.Connection:
    parts = conninfo_to_dict(dsn)
    return await asyncpg.connect(
        host=parts["host"], port=int(parts["port"]), user=parts["user"], database=parts["dbname"]
    )


async def repeat_awaited(call: Callable[[], Awaitable[Any]], seconds: float) -> Answer:
    """Like `repeat` of serve.py, for a call to await."""
    count = 0
    start = now = time.perf_counter()
    while now - start < seconds or count == 0:
        await call()
        count += 1
        now = time.perf_counter()
    return {"count": count, "seconds": now - start}


class Queue:
    """The connection of the publisher."""

    def __init__(self, dsn: str, connection: asyncpg.Connection) -> None:
        self.dsn = dsn
        self.connection = connection
        self.queries = Queries(AsyncpgDriver(connection))

    async def set_up(self) -> None:
        if not await self.queries.schema_is_installed():
            await self.queries.install()
        await self.clear()

    async def clear(self) -> None:
        await self.queries.clear_queue()
        await self.queries.clear_queue_log()

    async def enqueue(self, payload: dict[str, Any], batch: int) -> list[int]:
        """Enqueues so many jobs in one call: their ids."""
        payloads: list[bytes | None] = [json.dumps(payload).encode() for _ in range(batch)]
        return [int(id_) for id_ in await self.queries.enqueue(["no_op"] * batch, payloads, [0] * batch)]

    async def publish(self, seconds: float, payload: dict[str, Any]) -> Answer:
        """Jobs published with one call each, on one connection: how many, in how many seconds."""
        answer = await repeat_awaited(lambda: self.queries.enqueue("no_op", json.dumps(payload).encode()), seconds)
        await self.clear()
        return answer

    async def publish_many(self, seconds: float, payload: dict[str, Any], batch: int) -> Answer:
        """Jobs published with one call for each batch: how many jobs, in how many seconds."""
        answer = await repeat_awaited(lambda: self.enqueue(payload, batch), seconds)
        await self.clear()
        return answer | {"count": answer["count"] * batch}

    async def drain(self, jobs: int, payload: dict[str, Any]) -> Answer:
        """The seconds from when the jobs can be seen until the last of them is recorded as done.

        The worker is up and waits: it has run a first job. The jobs are enqueued in a transaction whose commit starts
        the clock. The last job to run shuts the worker down, which makes it record what it has not recorded yet
        without the wait for a full batch; it has then been recorded when the worker has ended, within 10 ms.
        """
        connection = await connect(self.dsn)
        manager = QueueManager(Queries(AsyncpgDriver(connection)))
        up = asyncio.Event()
        ran: list[int] = []

        @manager.entrypoint("first")
        async def first(job: Job) -> None:
            up.set()

        @manager.entrypoint("no_op")
        async def no_op(job: Job) -> None:
            ran.append(job.id)
            if len(ran) == jobs:
                manager.shutdown.set()

        async with asyncio.timeout(DRAIN_LIMIT), asyncio.TaskGroup() as group:
            group.create_task(manager.run(batch_size=BATCH_SIZE))
            await self.queries.enqueue("first", None)
            await up.wait()
            ids: list[int] = []
            async with self.connection.transaction():
                while len(ids) < jobs:
                    ids += await self.enqueue(payload, min(ENQUEUE_BATCH, jobs - len(ids)))
                start = time.perf_counter()
        seconds = time.perf_counter() - start
        await connection.close()
        await self.check(ids, ran)
        await self.clear()
        return {"count": jobs, "seconds": seconds}

    async def check(self, ids: list[int], ran: list[int]) -> None:
        log = await self.connection.fetch(
            "SELECT job_id FROM pgqueuer_log WHERE status = 'successful' AND entrypoint = 'no_op'"
        )
        left = await self.connection.fetchval("SELECT count(*) FROM pgqueuer")
        done = sorted(row["job_id"] for row in log)
        if sorted(ran) != sorted(ids) or done != sorted(ids) or left:
            raise RuntimeError(f"of {len(ids)} jobs {len(ran)} ran, {len(done)} were recorded as done, {left} are left")


def main(dsn: str) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:

        def awaited(operation: Callable[..., Awaitable[Answer]]) -> Callable[..., Answer]:
            return lambda **request: runner.run(operation(**request))

        queue = Queue(dsn, runner.run(connect(dsn)))
        runner.run(queue.set_up())
        serve({name: awaited(getattr(queue, name)) for name in ("publish", "publish_many", "drain")})


if __name__ == "__main__":
    main(sys.argv[1])
