"""An asynchronous client over a pool of connections."""

import asyncio
from typing import Any, Self

from ...spec.states import Event
from ..execution import Execution
from ..store._connect import RETRIES, connect, connect_options, dropped
from ._session import AsyncSession, Calls


class AsyncPostgresClient(AsyncSession[Calls]):
    """A client of the store for asyncio.

    `connection` is a pool (psycopg_pool.AsyncConnectionPool or one like it) or a single asynchronous connection: a call
    joins the transaction that this is in, and otherwise ends its own. The store is looked for at the first call, in
    `schema` (None: where the search path or the extension has it), and with `create_schema` created if need be;
    without it StoreNotInstalled is raised. Executions and events are read as `execution_type` and `event_type`.
    """

    def __init__(
        self,
        connection: Any,
        *,
        schema: str | None = None,
        create_schema: bool = True,
        execution_type: type[Execution] = Execution,
        event_type: type[Event] = Event,
    ) -> None:
        self._connection = connection
        self._owned = False
        if not hasattr(connection, "cursor"):
            self._attempts_again = RETRIES
        self._options = (schema, create_schema, execution_type, event_type)
        self._calls: Calls | None = None
        self._setting_up = asyncio.Lock()

    @classmethod
    async def from_dsn(
        cls,
        dsn: str,
        pool_size: int = 10,
        *,
        connect_retries: int = RETRIES,
        retry_delay: float = 1.0,
        pooler: bool = False,
        **options: Any,
    ) -> Self:
        """A client with a pool of its own, of at most `pool_size` connections; `options` are those of the class.

        A server that is still starting is tried again `connect_retries` times, `retry_delay` seconds apart. The pool
        replaces connections that the server has dropped. `pooler`: nothing is expected of the server to outlast a
        transaction, for a DSN that leads to a pooler such as pgbouncer in transaction mode.
        """
        import psycopg
        import psycopg_pool

        # The pool does not tell a server that refuses from one that is not there yet.
        (await asyncio.to_thread(connect, dsn, connect_retries, retry_delay)).close()
        kwargs = connect_options(dsn, pooler)
        pool = psycopg_pool.AsyncConnectionPool(dsn, min_size=1, max_size=pool_size, kwargs=kwargs, open=False)
        client = cls(pool, **options)
        client._owned = True
        client._attempts_again = max(connect_retries, 1)
        client._retry_delay = retry_delay
        try:
            await pool.open(wait=True)
            for retries in range(max(connect_retries, 0), -1, -1):
                try:
                    await client._ready()
                    break
                except psycopg.OperationalError:
                    # The server may go away again while the store is looked for; the pool connects anew.
                    if retries == 0:
                        raise
        except BaseException:
            await pool.close()
            raise
        return client

    async def close(self) -> None:
        """Closes the pool, if it is the client's own. A closed client cannot be used again."""
        if self._owned:
            await self._connection.close()

    async def _ready(self) -> Calls:
        if self._calls is None:
            async with self._setting_up:
                if self._calls is None:
                    self._calls = await self._set_up(*self._options)
        return self._calls

    async def _take(self) -> Any:
        if hasattr(self._connection, "cursor"):
            return self._connection
        connection = await self._connection.getconn()
        # Not left to the pool's own check, which waits longer and longer between one dropped connection and the next.
        while self._owned and dropped(connection):
            try:
                await connection.close()
            finally:
                await self._connection.putconn(connection)
            connection = await self._connection.getconn()
        return connection

    async def _give(self, connection: Any) -> None:
        if connection is not self._connection:
            await self._connection.putconn(connection)

    async def _rest(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
