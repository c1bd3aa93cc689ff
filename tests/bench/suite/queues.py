"""The queue beside those of peers, and how soon an idle worker is awake."""

import asyncio
import random
import statistics
import time
from contextlib import closing
from itertools import count
from typing import Any

import psycopg

from harel import AsyncPostgresTransport, Event, Execution, PostgresStore, PostgresTransport, Step
from harel.worker import Worker

from ..harness import Bench, Block
from ..peer import Own, Peer

PAYLOAD = {"order": 4711, "amount": 99.5, "note": "a line of text that stands for something"}
BATCH = 100
# A second of a block, of as many events for each execution.
JOBS = 2000
EVENTS = 10


def peer_queue(bench: Bench) -> None:
    """Publishing and draining, beside procrastinate and pgqueuer; our drain commits a state with each event."""
    for name in ("procrastinate", "pgqueuer"):
        with (
            bench.database() as dsn,
            bench.database(store=False) as their_dsn,
            closing(PostgresTransport.from_dsn(dsn)) as transport,
            Own(dsn) as ours,
            Peer(f"{name}_queue", their_dsn) as peer,
        ):
            one, many = _publishers(bench, transport)
            request: dict[str, Any] = {"seconds": bench.seconds, "payload": PAYLOAD}
            bench.compare(
                "transport.publish()", one, name, peer.block("publish", **request),
                parameters="async", unit="messages/s",
            )  # fmt: skip
            bench.compare(
                f"transport.publish_many() of {BATCH}", many, name, peer.block("publish_many", batch=BATCH, **request),
                parameters="async", unit="messages/s",
            )  # fmt: skip
            with psycopg.connect(dsn, autocommit=True) as session:
                session.execute("TRUNCATE transport_groups, transport_messages")
            jobs = max(20, int(JOBS * bench.seconds))
            drain = ours.block("drain", executions=2 * jobs // EVENTS, events=EVENTS)
            assert drain
            bench.compare(
                "worker", drain, name, peer.block("drain", jobs=jobs, payload=PAYLOAD),
                parameters="async, one process", unit="messages/s",
            )  # fmt: skip


def _publishers(bench: Bench, transport: PostgresTransport) -> tuple[Block, Block]:
    """Messages a second, published one by one and in batches."""
    turns = count()

    def publish() -> None:
        transport.publish(f"group-{next(turns)}", Event(kind="Go", data=PAYLOAD))

    def publish_many() -> None:
        transport.publish_many([(f"group-{next(turns)}", Event(kind="Go", data=PAYLOAD)) for _ in range(BATCH)])

    batches = bench.rate(publish_many)
    return bench.rate(publish), lambda: batches() * BATCH


def wake(bench: Bench) -> None:
    """How soon after a publish an idle worker calls the machine, beside how soon a bare LISTEN hears a NOTIFY."""
    with bench.database() as dsn, asyncio.Runner() as runner:
        store = PostgresStore.from_dsn(dsn)
        store.save(Execution(id="e", definition_id="d", status="RUNNING"))
        store.close()
        reactions = runner.run(_Reactions.start(dsn, max(2, int(20 * min(1, bench.seconds)))))
        bench.compare(
            "an idle worker's reaction", lambda: runner.run(reactions.of_worker()),
            "a bare LISTEN", lambda: runner.run(reactions.of_listen()),
            parameters="async", unit="s",
        )  # fmt: skip
        runner.run(reactions.end())


class _Reactions:
    """Both sides, idle; the figures are medians of some reactions in seconds, the sending included."""

    def __init__(self, dsn: str, count: int) -> None:
        self._count = count
        self._heard = asyncio.Event()
        self._heard_at = 0.0
        self._worker = Worker(dsn, {"d": self._step})

    @classmethod
    async def start(cls, dsn: str, count: int) -> "_Reactions":
        self = cls(dsn, count)
        self._working = asyncio.create_task(self._worker.run())
        self._transport = await AsyncPostgresTransport.from_dsn(dsn)
        self._session = await psycopg.AsyncConnection.connect(dsn, autocommit=True)
        listener = await psycopg.AsyncConnection.connect(dsn, autocommit=True)
        await listener.execute("LISTEN bench")
        self._listening = asyncio.create_task(self._listen(listener))
        return self

    def _hear(self) -> None:
        self._heard_at = time.perf_counter()
        self._heard.set()

    def _step(self, execution: Execution, event: Event) -> Step:
        self._hear()
        return Step(execution)

    async def _listen(self, listener: "psycopg.AsyncConnection[Any]") -> None:
        async with listener:
            async for _ in listener.notifies():
                self._hear()

    async def _measure(self, send: Any) -> float:
        times = []
        for _ in range(self._count):
            # The worker is to be asleep again.
            await asyncio.sleep(random.uniform(0.02, 0.05))
            self._heard.clear()
            sent_at = time.perf_counter()
            await send()
            await self._heard.wait()
            times.append(self._heard_at - sent_at)
        return statistics.median(times)

    async def of_worker(self) -> float:
        return await self._measure(lambda: self._transport.publish("e", Event(kind="go")))

    async def of_listen(self) -> float:
        return await self._measure(lambda: self._session.execute("NOTIFY bench"))

    async def end(self) -> None:
        self._worker.stop()
        await self._working
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)
        await self._session.close()
        await self._transport.close()
