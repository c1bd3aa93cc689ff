"""The console's connections, and what their errors mean to whoever reads a page."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from ..engine.store import StoreError
from ..engine.store._connect import connect_options, dropped, parsed
from ..functions import Functions

# Seconds: for a statement, for a new connection, and for one of the pool.
STATEMENT_TIMEOUT, CONNECT_TIMEOUT, POOL_TIMEOUT = 10, 3, 3

READERS, WRITERS = 4, 2


class Lost(Exception):
    """There is no connection to the database."""


class Problem(NamedTuple):
    """An error in words, with the status of the answer that tells of it."""

    status: int
    message: str
    detail: str = ""
    hint: str = ""


class Database:
    """Two small pools: one whose sessions cannot write, and one for the actions, if there are any.

    Nothing is connected before it is needed, and a connection that was lost is replaced by the next page.
    """

    def __init__(self, dsn: str, schema: str | None, write: bool) -> None:
        self._schema = schema
        self._functions: WeakKeyDictionary[Any, Functions] = WeakKeyDictionary()
        self._readers = _pool(dsn, READERS, read_only=True)
        self._writers = _pool(dsn, WRITERS, read_only=False) if write else None

    def open(self) -> None:
        for pool in self._pools():
            pool.open()

    def close(self) -> None:
        for pool in self._pools():
            pool.close()

    @contextmanager
    def reading(self) -> Iterator[Functions]:
        """The functions of the store on a connection that cannot write. Raises Lost."""
        with self._on(self._readers) as functions:
            yield functions

    @contextmanager
    def writing(self) -> Iterator[Functions]:
        """The functions of the store on a connection that can write, each call a transaction. Raises Lost."""
        assert self._writers is not None
        with self._on(self._writers) as functions:
            yield functions

    @contextmanager
    def _on(self, pool: "ConnectionPool[Any]") -> Iterator[Functions]:
        try:
            connection = pool.getconn()
            while dropped(connection):
                connection.close()
                pool.putconn(connection)
                connection = pool.getconn()
        except PoolTimeout:
            raise Lost from None
        try:
            if connection not in self._functions:
                self._functions[connection] = Functions(connection, self._schema)
            yield self._functions[connection]
        finally:
            pool.putconn(connection)

    def _pools(self) -> Iterator["ConnectionPool[Any]"]:
        yield self._readers
        if self._writers is not None:
            yield self._writers


def explained(error: Exception) -> Problem:
    """What an error of a call means; it says nothing of how the database is reached."""
    if isinstance(error, StoreError):
        return Problem(503, str(error))
    if not isinstance(error, psycopg.Error):
        return Problem(503, "The database cannot be reached.", hint="This page comes back as soon as it can.")
    diag = error.diag
    message = " ".join((diag.message_primary or "").split())
    if error.sqlstate is None and isinstance(error, psycopg.DataError):
        return Problem(400, "The database cannot hold such a text.")
    if error.sqlstate is None or (error.sqlstate[:2] in ("08", "57") and error.sqlstate != "57014"):
        return Problem(503, "The database cannot be reached.", hint="This page comes back as soon as it can.")
    if error.sqlstate.startswith("ST"):
        return Problem(400, message, diag.message_detail or "", diag.message_hint or "")
    if isinstance(error, psycopg.errors.QueryCanceled):
        return Problem(503, f"The database took longer than {STATEMENT_TIMEOUT} s.", hint="Ask for less, or later.")
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        hint = "SELECT harel_grant('the_role', 'reader'); lets a role read, and 'worker' also lets it act."
        return Problem(403, "The role that the console connects as may not do this.", message, hint)
    return Problem(400 if error.sqlstate.startswith("22") else 500, message, f"SQLSTATE {error.sqlstate}")


def _pool(dsn: str, size: int, read_only: bool) -> "ConnectionPool[Any]":
    given = parsed(dsn)
    settings = {
        "statement_timeout": f"{STATEMENT_TIMEOUT}s",
        "timezone": "UTC",
        **({"default_transaction_read_only": "on"} if read_only else {}),
    }
    before = given.get("options") or os.environ.get("PGOPTIONS", "")
    kwargs = {
        "connect_timeout": given.get("connect_timeout") or os.environ.get("PGCONNECT_TIMEOUT") or CONNECT_TIMEOUT,
        **connect_options(dsn),
        "fallback_application_name": "harel ui",
        "options": " ".join([before, *(f"-c {name}={value}" for name, value in settings.items())]).strip(),
    }
    return ConnectionPool(
        dsn,
        min_size=0,
        max_size=size,
        kwargs=kwargs,
        open=False,
        timeout=POOL_TIMEOUT,
        # Who asks next tries again; no attempt is left over that waits longer and longer.
        reconnect_timeout=1,
        num_workers=2,
    )
