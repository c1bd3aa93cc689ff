"""The test server, and a fresh database for each test.

The server is the one that HAREL_TEST_DSN names (its role must be a superuser), or an embedded one, started here.
"""

import os
import signal
import sys
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pytest_postgresql import factories

from harel.embedded import EmbeddedServer

_server = ExitStack()


def pytest_configure(config: pytest.Config) -> None:
    # Ended in this way too, a run leaves no server behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    # Once for all: the processes of pytest-xdist inherit the variable.
    if not os.environ.get("HAREL_TEST_DSN"):
        server = _server.enter_context(EmbeddedServer(settings={"fsync": "off", "max_connections": "200"}))
        os.environ["HAREL_TEST_DSN"] = server.dsn
    dsn = conninfo_to_dict(os.environ["HAREL_TEST_DSN"])
    # What the DSN leaves open is what libpq would take, and the plugin has defaults of its own.
    with psycopg.connect(os.environ["HAREL_TEST_DSN"]) as connection:
        config.option.postgresql_host = str(dsn.get("host") or connection.info.host)
        config.option.postgresql_port = str(connection.info.port)
        config.option.postgresql_user = connection.info.user
        config.option.postgresql_password = str(dsn.get("password") or "")


def pytest_unconfigure() -> None:
    _server.close()


def _create_extension(**connection: Any) -> None:
    with psycopg.connect(**connection) as session:
        session.execute("CREATE EXTENSION harel")


_empty = factories.postgresql_noproc(dbname="harel_empty")
_with_extension = factories.postgresql_noproc(dbname="harel_extension", load=[_create_extension])

# A connection to a fresh database in which the extension harel was created.
postgresql = factories.postgresql("_with_extension")

# The same for a database with nothing in it.
empty_database = factories.postgresql("_empty")


def _dsn(connection: "psycopg.Connection[Any]") -> str:
    info = connection.info
    return make_conninfo(host=info.host, port=info.port, user=info.user, password=info.password, dbname=info.dbname)


@pytest.fixture
def dsn(empty_database: "psycopg.Connection[Any]") -> str:
    """The DSN of a fresh database without a store."""
    return _dsn(empty_database)


@pytest.fixture
def store_dsn(postgresql: "psycopg.Connection[Any]") -> str:
    """The DSN of a fresh database in which the extension harel was created."""
    return _dsn(postgresql)
