"""The synchronous store, over one connection."""

from typing import Any

from ._calls import Calls
from ._client import PostgresClient
from ._methods import StoreMethods


class PostgresStore(StoreMethods, PostgresClient[Calls]):
    """A store in PostgreSQL: see PostgresClient for its connection and its options.

    Of each trace the last `trace_max` entries are kept.
    """

    def __init__(self, connection: Any, *, trace_max: int = 200, **options: Any) -> None:
        self.trace_max = trace_max
        super().__init__(connection, **options)
