"""Both stores under one face, so that each scenario is written once and runs on both."""

import asyncio
import inspect
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from harel import AsyncPostgresStore, PostgresStore


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
    """Makes stores, and connections to inject into them, of one of the two kinds; all are closed in the end."""

    def __init__(self, kind: str, runner: asyncio.Runner, closing: ExitStack) -> None:
        self.kind = kind
        self._runner = runner
        self._closing = closing

    def store(self, where: Any, **options: Any) -> Any:
        """A store over a DSN, with connections of its own, or over a connection."""
        store: Any
        if self.kind == "sync":
            store = (
                PostgresStore.from_dsn(where, **options) if isinstance(where, str) else PostgresStore(where, **options)
            )
        elif isinstance(where, str):
            store = Blocking(self._runner.run(AsyncPostgresStore.from_dsn(where, **options)), self._runner)
        else:
            store = Blocking(AsyncPostgresStore(where._target, **options), self._runner)
        self._closing.callback(store.close)
        return store

    def connect(self, dsn: str, **options: Any) -> Any:
        """A connection to inject into a store."""
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
