"""Connections of a store's own. psycopg is imported here only, and only when one is made."""

import os
import select
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

# How often a server that is not there is tried again, unless the caller says so.
RETRIES = 15

# In autocommit a call is one statement and nothing else. JSON is UTF-8, whatever the encoding of the database.
OPTIONS: dict[str, Any] = {"autocommit": True, "client_encoding": "utf8", "fallback_application_name": "harel"}

# A host that has gone away silently is given up after a minute. The system would wait for hours.
_TIMEOUTS = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}


def parsed(dsn: str) -> dict[str, Any]:
    """What a DSN says, by the names of libpq.

    Raises psycopg.ProgrammingError for what libpq cannot read, without a word of it: it may hold a password.
    """
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    with suppress(psycopg.ProgrammingError):
        return conninfo_to_dict(dsn)
    # Raised outside, or the error of libpq, which quotes the DSN, would be its context.
    raise psycopg.ProgrammingError("the DSN is no connection string or URI that libpq understands")


def connect_options(dsn: str, pooler: bool = False) -> dict[str, Any]:
    """How a connection to this DSN, which may say otherwise, is made. Raises as parsed() does."""
    given = parsed(dsn)
    timeouts = {name: value for name, value in _TIMEOUTS.items() if name not in given}
    # A pooler may send each transaction to another server process, which knows nothing of what the last one prepared.
    return {**timeouts, **OPTIONS, **({"prepare_threshold": None} if pooler else {})}


def connect(dsn: str, retries: int, delay: float, pooler: bool = False) -> "psycopg.Connection[Any]":
    """A connection; while the server is starting or not there, tried again `retries` times, `delay` seconds apart.

    So are servers of which none is what `target_session_attrs` asks for: a standby may be promoted. Raises
    psycopg.OperationalError: at once where a server answers and refuses, such as for a wrong password.
    """
    import psycopg
    from psycopg.conninfo import make_conninfo

    options, refusals = connect_options(dsn, pooler), 0
    while True:
        try:
            return psycopg.connect(dsn, **options)
        except psycopg.OperationalError as error:
            # A ping stops all threads while it waits: not for a server that has just been mute, and not for long.
            mute = isinstance(error, psycopg.errors.ConnectionTimeout)
            conninfo = make_conninfo(dsn, connect_timeout=2).encode()
            if not mute and psycopg.pq.PGconn.ping(conninfo) == psycopg.pq.Ping.OK and not _of_another_kind(dsn):
                # It may have come up between the two, so it has to refuse twice.
                refusals += 1
                if refusals > 1:
                    raise
                continue
            if retries <= 0:
                raise
        retries -= 1
        time.sleep(delay)


def _of_another_kind(dsn: str) -> bool:
    """Whether there is a server that takes connections, only not of the kind that the DSN asks for."""
    import psycopg

    kind = parsed(dsn).get("target_session_attrs") or os.environ.get("PGTARGETSESSIONATTRS")
    if kind in (None, "any"):
        return False
    with suppress(psycopg.OperationalError):
        psycopg.connect(dsn, **OPTIONS, target_session_attrs="any").close()
        return True
    return False


def dropped(connection: Any) -> bool:
    """Whether an idle psycopg connection was closed by the server, found without a round trip.

    A server that closes a connection sends word of it, or at least the end of the stream, so there is something to
    read. A network that went away silently shows only when the connection is used.
    """
    if connection.closed:
        return True
    with suppress(Exception):
        while not connection.closed and _readable(connection.pgconn.socket):
            connection.pgconn.consume_input()
        return bool(connection.closed)
    return True


def _readable(socket: int) -> bool:
    poll = select.poll()
    poll.register(socket, select.POLLIN)
    return bool(poll.poll(0))
