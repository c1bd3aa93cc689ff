"""A synchronous client over one connection."""

import time
from threading import RLock
from typing import Any, Self

from ...spec.states import Event
from ..execution import Execution
from ._connect import RETRIES, connect, dropped
from ._session import Calls, Session


class PostgresClient(Session[Calls]):
    """A client of the store.

    `connection` is one of psycopg, or any that has `cursor()`, `commit()` and `rollback()` and takes `%s` parameters.
    A call joins the transaction that the connection is in, and otherwise ends its own. Threads may share a client that
    has a connection of its own; their calls take turns.

    The store is looked for in `schema` (None: where the search path or the extension has it), and with `create_schema`
    created if need be; without it StoreNotInstalled is raised. Executions and events are read as `execution_type` and
    `event_type`.
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
        self._reconnect: tuple[str, int, float, bool] | None = None
        self._lock = RLock()
        self._calls = self._set_up(schema, create_schema, execution_type, event_type)

    @classmethod
    def from_dsn(
        cls,
        dsn: str,
        connect_retries: int = RETRIES,
        retry_delay: float = 1.0,
        *,
        pooler: bool = False,
        **options: Any,
    ) -> Self:
        """A client with a connection of its own; `options` are those of the class.

        A server that is still starting is tried again `connect_retries` times, `retry_delay` seconds apart. So is one
        that has dropped the connection, at the next call. `pooler`: nothing is expected of the server to outlast a
        transaction, for a DSN that leads to a pooler such as pgbouncer in transaction mode.
        """
        import psycopg

        for retries in range(max(connect_retries, 0), -1, -1):
            connection = connect(dsn, retries, retry_delay, pooler)
            try:
                client = cls(connection, **options)
                break
            except BaseException as error:
                # The server may go away again while the store is looked for.
                gone = isinstance(error, psycopg.OperationalError) and connection.closed
                connection.close()
                if not gone or retries == 0:
                    raise
        client._reconnect = (dsn, connect_retries, retry_delay, pooler)
        client._attempts_again = max(connect_retries, 1)
        client._retry_delay = retry_delay
        return client

    def close(self) -> None:
        """Closes the connection, if it is the client's own. A closed client cannot be used again."""
        if self._reconnect is not None:
            self._reconnect = None
            self._connection.close()

    def _ready(self) -> Calls:
        return self._calls

    def _take(self) -> Any:
        # Another thread may be in the middle of a transaction, which this one must not join.
        self._lock.acquire()
        if self._reconnect is not None and dropped(self._connection):
            try:
                self._connection.close()
                self._connection = connect(*self._reconnect)
            except BaseException:
                self._lock.release()
                raise
        return self._connection

    def _give(self, connection: Any) -> None:
        self._lock.release()

    def _rest(self, seconds: float) -> None:
        time.sleep(seconds)
