"""A call that is cancelled at any of its awaits leaves the pool whole, and is carried out as a whole or not at all."""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any

import psycopg
import pytest

from harel import (
    AsyncPostgresStore,
    AsyncPostgresTransport,
    Completion,
    Event,
    Execution,
    OutboxEntry,
    TimerOp,
)

SIZE = 2

# Far more awaits than any call has.
MANY = 200

WRITTEN = """
    SELECT (SELECT sum(version) FROM executions), (SELECT count(*) FROM processed_events),
        (SELECT count(*) FROM outbox), (SELECT count(*) FROM spawns), (SELECT count(*) FROM timers),
        (SELECT count(*) FROM trace), (SELECT count(*) FROM transport_messages),
        (SELECT count(*) FROM transport_groups WHERE token IS NOT NULL)
"""


class CancelledAt:
    """Awaits a coroutine and is cancelled when it suspends for the n-th time, counted from 0."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], n: int) -> None:
        self._coroutine = coroutine
        self._n = n
        self.suspended = 0

    def __await__(self) -> Generator[Any, Any, Any]:
        task = asyncio.current_task()
        assert task is not None
        send: Callable[[Any], Any] = self._coroutine.send
        value: Any = None
        while True:
            try:
                waited_for = send(value)
            except StopIteration as done:
                return done.value
            if self.suspended == self._n:
                task.cancel()
            self.suspended += 1
            try:
                value = yield waited_for
                send = self._coroutine.send
            except BaseException as error:
                send, value = self._coroutine.throw, error


class Calls:
    """The calls that are cancelled, each on what the one before has left."""

    def __init__(self, store: AsyncPostgresStore, transport: AsyncPostgresTransport) -> None:
        self.store = store
        self.transport = transport

    async def prepare(self) -> None:
        self.exe = Execution(definition_id="orders")
        await self.store.commit(self.exe, [(None, Event(kind="Told"))])
        await self.transport.publish(self.exe.id, Event(kind="Go"))
        self.deliveries = await self.transport.next("w", 30.0) if self.call == "finish" else []

    async def load(self) -> Any:
        return await self.store.load(self.exe.id)

    async def save(self) -> Any:
        return await self.store.save(self.exe)

    async def commit(self) -> Any:
        emits, timers = [(None, Event(kind="Told"))], [TimerOp("schedule", "path", 1.0)]
        return await self.store.commit(self.exe, emits, "event", timers, [("child", "", {})], {"event": "Paid"})

    async def deliver_outbox(self) -> Any:
        async def handle(entries: list[OutboxEntry]) -> None:
            await asyncio.sleep(0)

        return await self.store.deliver_outbox(handle)

    async def next(self) -> Any:
        return await self.transport.next("w", 30.0)

    async def finish(self) -> Any:
        completions = [Completion(one.lease, one.execution, trace={"event": "Go"}) for one in self.deliveries]
        return await self.transport.finish(completions)

    call = ""


async def whole(pool: Any) -> None:
    """All connections of the pool can be taken at once, idle, and there are no others."""
    taken = [await pool.getconn(30.0) for _ in range(SIZE)]
    try:
        for connection in taken:
            assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
            assert await (await connection.execute("SELECT 1")).fetchone() == (1,)
        assert pool.get_stats()["pool_size"] == SIZE
    finally:
        for connection in taken:
            await pool.putconn(connection)


@pytest.mark.parametrize("call", ["load", "save", "commit", "deliver_outbox", "next", "finish"])
def test_a_call_cancelled_at_any_await_leaves_all_or_nothing_and_a_whole_pool(store_dsn: str, call: str) -> None:
    async def use() -> int:
        store = await AsyncPostgresStore.from_dsn(store_dsn, SIZE)
        transport = await AsyncPostgresTransport.from_dsn(store_dsn, SIZE)
        calls = Calls(store, transport)
        calls.call = call
        async with await psycopg.AsyncConnection.connect(store_dsn, autocommit=True) as session:

            async def written() -> Any:
                return await (await session.execute(WRITTEN)).fetchone()

            async def cancelled(n: int) -> bool:
                """Whether the call was cancelled at its n-th await, or was done before it."""
                await session.execute(
                    "TRUNCATE executions, outbox, processed_events, spawns, timers, trace, transport_groups, "
                    "transport_messages"
                )
                await calls.prepare()
                before, version = await written(), calls.exe.version
                cancelling = CancelledAt(getattr(calls, call)(), n)

                async def run() -> None:
                    await cancelling

                task = asyncio.ensure_future(run())
                with suppress(asyncio.CancelledError):
                    await task
                states.append((before, await written()))
                if task.cancelled():
                    assert calls.exe.version == version
                await whole(store._connection)
                await whole(transport._connection)
                return cancelling.suspended > n

            states: list[Any] = []
            assert not await cancelled(MANY)
            before, after = states.pop()
            n = 0
            while await cancelled(n):
                n += 1
            assert all(state in [(before, before), (before, after)] for state in states), states
        await store.close()
        await transport.close()
        return n

    assert asyncio.run(use()) >= 1
