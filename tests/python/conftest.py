"""Both clients under one face, so that each scenario is written once and runs on both."""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from harel import AsyncPostgresStore, AsyncPostgresTransport, PostgresStore, PostgresTransport


class Blocking:
    """An object whose coroutine methods are run to their end in one event loop, as if they were plain methods."""

    def __init__(self, target: Any, runner: asyncio.Runner) -> None:
        self.__dict__.update(_target=target, _runner=runner)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._target, name)
        if not inspect.iscoroutinefunction(attribute):
            return attribute
        return lambda *args, **kwargs: self._runner.run(attribute(*args, **kwargs))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._target, name, value)


class Twin:
    """Makes clients, and connections to inject into them, of one of the two kinds; all are closed in the end."""

    def __init__(self, kind: str, runner: asyncio.Runner, closing: ExitStack) -> None:
        self.kind = kind
        self._runner = runner
        self._closing = closing

    def store(self, where: Any, **options: Any) -> Any:
        """A store over a DSN, with connections of its own, or over a connection."""
        return self._client(PostgresStore if self.kind == "sync" else AsyncPostgresStore, where, options)

    def transport(self, where: Any, **options: Any) -> Any:
        """A transport over a DSN, with connections of its own, or over a connection."""
        return self._client(PostgresTransport if self.kind == "sync" else AsyncPostgresTransport, where, options)

    def _client(self, client_type: Any, where: Any, options: dict[str, Any]) -> Any:
        client: Any
        if self.kind == "sync":
            client = client_type.from_dsn(where, **options) if isinstance(where, str) else client_type(where, **options)
        elif isinstance(where, str):
            client = Blocking(self._runner.run(client_type.from_dsn(where, **options)), self._runner)
        else:
            client = Blocking(client_type(where._target, **options), self._runner)
        self._closing.callback(client.close)
        return client

    def handler(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function as a handler that is called by a client: a coroutine function for the asynchronous one."""
        if self.kind == "sync":
            return function

        async def handle(*args: Any) -> Any:
            # In a thread, as it may call a client that blocks.
            return await asyncio.to_thread(function, *args)

        return handle

    def connect(self, dsn: str, **options: Any) -> Any:
        """A connection to inject into a client."""
        connection: Any
        if self.kind == "sync":
            connection = psycopg.connect(dsn, **options)
        else:
            connection = Blocking(self._runner.run(psycopg.AsyncConnection.connect(dsn, **options)), self._runner)
        self._closing.callback(connection.close)
        return connection


@pytest.fixture(params=["sync", "async"])
def twin(request: pytest.FixtureRequest) -> Iterator[Twin]:
    with asyncio.Runner() as runner, ExitStack() as closing:
        yield Twin(request.param, runner, closing)


@pytest.fixture
def store(twin: Twin, store_dsn: str) -> Any:
    """A store over connections of its own, in a fresh database."""
    return twin.store(store_dsn)


@pytest.fixture
def transport(twin: Twin, store_dsn: str) -> Any:
    """A transport over connections of its own, in the same database."""
    return twin.transport(store_dsn)
