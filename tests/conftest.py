"""The test server, a fresh database for each test, and both clients under one face.

The server is the one that HAREL_TEST_DSN names (its role must be a superuser), or an embedded one, started here.
Where HAREL_TEST_DISTRIBUTED is a number of shards, each store is spread over a Citus cluster that is started here.
"""

import asyncio
import inspect
import itertools
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from typing import Any

import psycopg
import pytest
from pages import Page
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pytest_postgresql import factories

from cluster import SHARDS, Cluster, dsn_of, execute
from harel import (
    AsyncPostgresStore,
    AsyncPostgresTransport,
    AsyncShardedStore,
    PostgresStore,
    PostgresTransport,
    ShardedStore,
)
from harel.embedded import EmbeddedServer

_DISTRIBUTED = "harel_distributed"
_numbers = itertools.count()

_server = ExitStack()


def pytest_configure(config: pytest.Config) -> None:
    # Ended in this way too, a run leaves no server behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    # Once for all: the processes of pytest-xdist inherit the variable.
    if not os.environ.get("HAREL_TEST_DSN") and SHARDS:
        cluster = _server.enter_context(Cluster())
        distributed = cluster.create_database(_DISTRIBUTED)
        execute(distributed, "CREATE EXTENSION harel")
        execute(distributed, "SELECT harel_distribute(%s)", SHARDS)
        os.environ["HAREL_TEST_DSN"] = ";".join(cluster.dsns)
    elif not os.environ.get("HAREL_TEST_DSN"):
        server = _server.enter_context(EmbeddedServer(settings={"fsync": "off", "max_connections": "200"}))
        os.environ["HAREL_TEST_DSN"] = server.dsn
    first = os.environ["HAREL_TEST_DSN"].split(";")[0]
    dsn = conninfo_to_dict(first)
    # What the DSN leaves open is what libpq would take, and the plugin has defaults of its own.
    with psycopg.connect(first) as connection:
        config.option.postgresql_host = str(dsn.get("host") or connection.info.host)
        config.option.postgresql_port = str(connection.info.port)
        config.option.postgresql_user = connection.info.user
        config.option.postgresql_password = str(dsn.get("password") or "")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        mark = item.get_closest_marker("one_server")
        if mark and SHARDS:
            item.add_marker(pytest.mark.skip(reason=mark.args[0]))


def pytest_unconfigure() -> None:
    _server.close()


def _create_extension(**connection: Any) -> None:
    with psycopg.connect(**connection) as session:
        # An earlier version that HAREL_TEST_UPGRADED names is created and upgraded.
        version = os.environ.get("HAREL_TEST_UPGRADED")
        if version:
            session.execute(sql.SQL("CREATE EXTENSION harel VERSION {}").format(sql.Literal(version)))
            session.execute("ALTER EXTENSION harel UPDATE")
        else:
            session.execute("CREATE EXTENSION harel")


_empty = factories.postgresql_noproc(dbname="harel_empty")
_with_extension = factories.postgresql_noproc(dbname="harel_extension", load=[_create_extension])

_on_one_server = factories.postgresql("_with_extension")


@contextmanager
def _copy_on_cluster(name: str) -> Iterator["psycopg.Connection[Any]"]:
    with Cluster(os.environ["HAREL_TEST_DSN"].split(";")) as cluster:
        with psycopg.connect(cluster.copy_database(_DISTRIBUTED, name)) as connection:
            yield connection
        cluster.drop_database(name)


@pytest.fixture
def _on_cluster() -> Iterator["psycopg.Connection[Any]"]:
    with _copy_on_cluster(f"harel_test_{os.getpid()}_{next(_numbers)}") as connection:
        yield connection


@pytest.fixture(scope="session")
def _shared_on_cluster() -> Iterator["psycopg.Connection[Any]"]:
    with _copy_on_cluster(f"harel_shared_{os.getpid()}") as connection:
        yield connection


@pytest.fixture
def rolled_back(request: pytest.FixtureRequest) -> Iterator["psycopg.Connection[Any]"]:
    """As `postgresql`, for tests that leave nothing behind: on a cluster they share a database, as each takes long."""
    connection: psycopg.Connection[Any]
    connection = request.getfixturevalue("_shared_on_cluster" if SHARDS else "_on_one_server")
    yield connection
    connection.rollback()
    connection.execute("DEALLOCATE ALL", prepare=False)
    connection.commit()


@pytest.fixture
def postgresql(request: pytest.FixtureRequest) -> "psycopg.Connection[Any]":
    """A connection to a fresh database in which the extension harel was created."""
    connection: psycopg.Connection[Any]
    connection = request.getfixturevalue("_on_cluster" if SHARDS else "_on_one_server")
    return connection


@pytest.fixture(scope="session")
def citus() -> None:
    """Skips what needs a cluster where the test server is not one that could be a node of it."""
    first = os.environ["HAREL_TEST_DSN"].split(";")[0]
    if not execute(first, "SELECT name FROM pg_available_extensions WHERE name = 'citus'"):
        pytest.skip("the test server does not offer citus")


# The same for a database with nothing in it.
empty_database = factories.postgresql("_empty")


@pytest.fixture
def dsn(empty_database: "psycopg.Connection[Any]") -> str:
    """The DSN of a fresh database without a store."""
    return dsn_of(empty_database)


@pytest.fixture
def store_dsn(postgresql: "psycopg.Connection[Any]") -> str:
    """The DSN of a fresh database in which the extension harel was created."""
    return dsn_of(postgresql)


@pytest.fixture
def shard_dsns(dsn: str) -> Iterator[list[str]]:
    """The DSNs of four fresh databases without a store."""
    names = [f"{conninfo_to_dict(dsn)['dbname']}_{n}" for n in range(1, 4)]
    with psycopg.connect(os.environ["HAREL_TEST_DSN"], autocommit=True) as session:
        for name in names:
            session.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield [dsn, *(make_conninfo(dsn, dbname=name) for name in names)]
        for name in names:
            session.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


class Blocking:
    """An object whose coroutine methods are run to their end in one event loop, as if they were plain methods."""

    def __init__(self, target: Any, runner: asyncio.Runner) -> None:
        self.__dict__.update(_target=target, _runner=runner)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._target, name)
        if not inspect.iscoroutinefunction(attribute):
            return attribute
        # In the context of the caller, as a plain method would be.
        return lambda *args, **kwargs: self._runner.run(attribute(*args, **kwargs), context=copy_context())

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._target, name, value)


class Twin:
    """Makes clients of one of the two kinds, and connections to inject into them, so that a scenario is written once.

    All are closed in the end.
    """

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

    def sharded(self, shards: Any, **options: Any) -> Any:
        """A store over the databases of several DSNs."""
        client: Any
        if self.kind == "sync":
            client = ShardedStore(shards, **options)
        else:
            client = Blocking(self._runner.run(AsyncShardedStore.from_dsns(shards, **options)), self._runner)
        self._closing.callback(client.close)
        return client

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


@pytest.fixture
def page(request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page that the test's mark names; in the end the test must have asked for all that the mark says."""
    mark = request.node.get_closest_marker("page")
    path, *languages = mark.args
    page = Page(path)
    yield page
    assert page.asked == set(languages), f"the test says that it runs {languages} of {path}"
