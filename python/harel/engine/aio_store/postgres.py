"""The asynchronous store, over a pool of connections."""

from typing import Any

from ..store._calls import Calls
from ._client import AsyncPostgresClient
from ._methods import AsyncStoreMethods


class AsyncPostgresStore(AsyncStoreMethods, AsyncPostgresClient[Calls]):
    """A store in PostgreSQL for asyncio: see AsyncPostgresClient for its connections and its options.

    Of each trace the last `trace_max` entries are kept.
    """

    def __init__(self, connection: Any, *, trace_max: int = 200, **options: Any) -> None:
        self.trace_max = trace_max
        super().__init__(connection, **options)
