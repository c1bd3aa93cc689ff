"""The synchronous queue."""

from collections.abc import Callable
from typing import Any

from ..store._client import PostgresClient
from ._calls import TransportCalls
from ._methods import TransportMethods


class PostgresTransport(TransportMethods, PostgresClient[TransportCalls]):
    """A queue in PostgreSQL: see PostgresClient for its connection and its options.

    clock: gives the time in seconds since the epoch, for tests and simulations; None is the clock of the database. A
    message delivered `max_attempts` times (None: no limit) becomes a dead letter. Of each trace the last `trace_max`
    entries are kept.
    """

    def __init__(
        self,
        connection: Any,
        *,
        clock: Callable[[], float] | None = None,
        max_attempts: int | None = 20,
        trace_max: int = 200,
        **options: Any,
    ) -> None:
        self.clock = clock
        self.max_attempts = max_attempts
        self.trace_max = trace_max
        super().__init__(connection, **options)
