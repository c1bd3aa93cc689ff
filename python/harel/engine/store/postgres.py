"""The synchronous store, over one connection."""

from threading import Lock
from typing import Any, TypeVar

from ...spec.states import Event
from ..execution import Execution
from ._calls import Call, Calls
from ._connect import connect, dropped
from ._methods import StoreMethods, run_on

Result = TypeVar("Result")


class PostgresStore(StoreMethods):
    """A store in PostgreSQL.

    `connection` is one of psycopg, or any that has `cursor()`, `commit()` and `rollback()` and takes `%s` parameters.
    A call joins the transaction that the connection is in, and otherwise ends its own. Threads may share a store that
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
        trace_max: int = 200,
        execution_type: type[Execution] = Execution,
        event_type: type[Event] = Event,
    ) -> None:
        self.trace_max = trace_max
        self._connection = connection
        self._reconnect: tuple[str, int, float] | None = None
        self._reconnecting = Lock()
        self._calls = self._set_up(schema, create_schema, execution_type, event_type)

    @classmethod
    def from_dsn(cls, dsn: str, connect_retries: int = 15, retry_delay: float = 1.0, **options: Any) -> "PostgresStore":
        """A store with a connection of its own; `options` are those of the class.

        A server that is still starting is tried again `connect_retries` times, `retry_delay` seconds apart. So is one
        that has dropped the connection, at the next call.
        """
        import psycopg

        for retries in range(max(connect_retries, 0), -1, -1):
            connection = connect(dsn, retries, retry_delay)
            try:
                store = cls(connection, **options)
                break
            except BaseException as error:
                # The server may go away again while the store is looked for.
                gone = isinstance(error, psycopg.OperationalError) and connection.closed
                connection.close()
                if not gone or retries == 0:
                    raise
        store._reconnect = (dsn, connect_retries, retry_delay)
        return store

    def close(self) -> None:
        """Closes the connection, if it is the store's own. A closed store cannot be used again."""
        if self._reconnect is not None:
            self._reconnect = None
            self._connection.close()

    def _ready(self) -> Calls:
        return self._calls

    def _run(self, call: Call[Result]) -> Result:
        if self._reconnect is not None:
            with self._reconnecting:
                if self._dropped():
                    self._connection.close()
                    self._connection = connect(*self._reconnect)
        return run_on(self._connection, call)

    def _dropped(self) -> bool:
        # A connection that another thread is using is not idle, and not to be read from.
        if not self._connection.lock.acquire(blocking=False):
            return False
        try:
            return dropped(self._connection)
        finally:
            self._connection.lock.release()
