"""Procrastinate: jobs are published one by one and in bulk, and drained by workers in this one process."""

import asyncio
import logging
import sys
import time
from collections.abc import Callable
from typing import Any

import psycopg
import uvloop
from procrastinate import App, JobContext, PsycopgConnector
from procrastinate.tasks import Task
from psycopg_pool import AsyncConnectionPool
from serve import Answer, repeat, serve

# A worker fetches its jobs one at a time, so several workers on one event loop are faster than one of a high
# concurrency: four of one job each drained 2389 jobs a second where one of 5, 10 and 40 jobs drained 1762, 1782 and
# 1424 (medians of 14 runs by turns, 2 CPUs); 6 and 8 workers, more jobs each and more connections could not be told
# from it. uvloop gave 7 %. A connection that commits each statement by itself saves BEGIN and COMMIT. Publishing goes
# without asyncio and the pool, on a connection given to the deferrer. Jobs are kept when done, as is the default.
WORKERS = 4
CONCURRENCY = 1
POOL_SIZE = 4
ENQUEUE_BATCH = 500


def unchecked_pool(**settings: Any) -> AsyncConnectionPool:
    """A pool that does not probe a connection, a round trip to the server, before each use."""
    return AsyncConnectionPool(**(settings | {"check": None}))


class Queue:
    """The tasks, and what they saw of the drain that runs."""

    def __init__(self, dsn: str) -> None:
        self.connection = psycopg.connect(dsn, autocommit=True)
        self.ran: list[int] = []
        self.started = 0.0
        self.app = App(
            connector=PsycopgConnector(
                conninfo=dsn,
                kwargs={"autocommit": True},
                min_size=POOL_SIZE,
                max_size=POOL_SIZE,
                pool_factory=unchecked_pool,
            )
        )
        self.no_op: Task = self.app.task(name="no_op", pass_context=True)(self.run)
        self.starter: Task = self.app.task(name="start")(self.start)
        self.set_up()

    def set_up(self) -> None:
        if self.connection.execute("SELECT to_regclass('procrastinate_jobs')").fetchone() == (None,):
            with self.app.open():
                self.app.schema_manager.apply_schema()
        self.clear()

    def clear(self) -> None:
        self.connection.execute("TRUNCATE procrastinate_jobs CASCADE")

    async def run(self, context: JobContext, /, **payload: Any) -> None:
        assert context.job.id is not None
        self.ran.append(context.job.id)

    async def start(self) -> None:
        self.started = time.perf_counter()

    def publish(self, seconds: float, payload: dict[str, Any]) -> Answer:
        """Jobs published with one call each, on one connection: how many, in how many seconds."""
        deferrer = self.no_op.configure(connection=self.connection)
        answer = repeat(lambda: deferrer.defer(**payload), seconds)
        self.clear()
        return answer

    def publish_many(self, seconds: float, payload: dict[str, Any], batch: int) -> Answer:
        """Jobs published with one call for each batch: how many jobs, in how many seconds."""
        deferrer = self.no_op.configure(connection=self.connection)
        answer = repeat(lambda: deferrer.batch_defer(*[payload] * batch), seconds)
        self.clear()
        return answer | {"count": answer["count"] * batch}

    def drain(self, jobs: int, payload: dict[str, Any]) -> Answer:
        """The seconds from when the workers are up until the last of the jobs is recorded as done.

        The clock is started by a job of its own, the first that a worker runs. A worker that is told not to wait ends
        when it finds no further job and all that it took are recorded, about 5 ms after the last of them.
        """
        self.ran.clear()
        self.starter.configure(connection=self.connection).defer()
        deferrer = self.no_op.configure(connection=self.connection)
        ids: list[int] = []
        while len(ids) < jobs:
            ids += deferrer.batch_defer(*[payload] * min(ENQUEUE_BATCH, jobs - len(ids)))
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            stopped = runner.run(self.work())
        self.check(ids)
        self.clear()
        return {"count": jobs, "seconds": stopped - self.started}

    async def work(self) -> float:
        """Works until the queue is empty. The time of the clock then, in seconds."""
        async with self.app.open_async():
            workers = (
                self.app.run_worker_async(
                    concurrency=CONCURRENCY, wait=False, listen_notify=False, install_signal_handlers=False
                )
                for _ in range(WORKERS)
            )
            await asyncio.gather(*workers)
            return time.perf_counter()

    def check(self, ids: list[int]) -> None:
        done = self.connection.execute(
            "SELECT id FROM procrastinate_jobs WHERE status = 'succeeded' AND attempts = 1 AND task_name = 'no_op'"
        ).fetchall()
        if sorted(self.ran) != sorted(ids) or sorted(id_ for (id_,) in done) != sorted(ids):
            raise RuntimeError(f"of {len(ids)} jobs {len(self.ran)} ran and {len(done)} were recorded as done once")


def main(dsn: str) -> None:
    logging.getLogger("procrastinate").setLevel(logging.ERROR)
    queue = Queue(dsn)
    operations: dict[str, Callable[..., Answer]] = {
        "publish": queue.publish,
        "publish_many": queue.publish_many,
        "drain": queue.drain,
    }
    serve(operations)


if __name__ == "__main__":
    main(sys.argv[1])
