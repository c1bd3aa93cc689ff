"""A password in a DSN is in no error, no log and no output, whatever is wrong with the DSN or the server."""

import asyncio
import logging
import os
import subprocess
import sys
import traceback
from collections.abc import Callable

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from harel import AsyncPostgresStore, AsyncPostgresTransport, PostgresStore, PostgresTransport
from harel.worker import Worker

SECRET = "s3kr1t"

WRONG = {
    "no scheme": f"postgres:/user:{SECRET}@localhost/db",
    "no equals sign": f"host=localhost password {SECRET}",
    "an unknown keyword": f"host=localhost pass={SECRET} {SECRET}=1",
    "an unfinished quote": f"host=localhost password='{SECRET}",
    "a bad escape": f"postgresql://user:{SECRET}%zz@localhost/db",
    "a bad port": f"postgresql://user:{SECRET}@localhost:port/db",
    "a NUL": f"postgresql://user:{SECRET}\0@localhost/db",
    "nobody listens": f"postgresql://user:{SECRET}@127.0.0.1:1/db",
    "no such host": f"host=/nonexistent user=user password={SECRET}",
}


def refused(store_dsn: str) -> str:
    """The DSN of a server that answers and refuses."""
    return make_conninfo(store_dsn, user="nobody_known", password=SECRET)


async def _asynchronously(client: type[AsyncPostgresStore] | type[AsyncPostgresTransport], dsn: str) -> None:
    await client.from_dsn(dsn, connect_retries=0)


USERS: dict[str, Callable[[str], object]] = {
    "store": lambda dsn: PostgresStore.from_dsn(dsn, connect_retries=0),
    "transport": lambda dsn: PostgresTransport.from_dsn(dsn, connect_retries=0),
    "asynchronous store": lambda dsn: asyncio.run(_asynchronously(AsyncPostgresStore, dsn)),
    "asynchronous transport": lambda dsn: asyncio.run(_asynchronously(AsyncPostgresTransport, dsn)),
}


def everything_about(error: BaseException) -> str:
    """What an error and all that led to it say, with the arguments of each.

    Not the attribute `pgconn` of psycopg's errors, through which it lets a program look at the attempt to connect.
    """
    text = "".join(traceback.format_exception(error))
    chain: BaseException | None = error
    while chain is not None:
        text += f"{chain!r} {chain.args!r}"
        chain = chain.__cause__ or chain.__context__
    return text


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("wrong", [*WRONG, "refused"])
def test_no_error_and_no_log_of_a_client_has_it(
    wrong: str, user: str, store_dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises((psycopg.Error, ValueError)) as raised:
        USERS[user](WRONG.get(wrong) or refused(store_dsn))
    assert SECRET not in everything_about(raised.value)
    assert SECRET not in caplog.text


def test_what_cannot_be_read_is_said_to_be_the_dsn() -> None:
    with pytest.raises(psycopg.ProgrammingError, match="the DSN is no connection string or URI"):
        PostgresStore.from_dsn(WRONG["no scheme"])


@pytest.mark.parametrize("wrong", ["no scheme", "no equals sign", "an unfinished quote", "a bad escape", "refused"])
def test_no_error_and_no_log_of_a_worker_has_it(wrong: str, store_dsn: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def work() -> None:
        worker = Worker(WRONG.get(wrong) or refused(store_dsn), {"d": lambda exe, event: None})
        async with asyncio.timeout(1):
            await worker.run()

    with pytest.raises((psycopg.Error, ValueError, TimeoutError)) as raised:
        asyncio.run(work())
    assert SECRET not in everything_about(raised.value)
    assert SECRET not in caplog.text


def test_no_log_of_a_store_whose_connection_is_lost_has_it(store_dsn: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    store = PostgresStore.from_dsn(make_conninfo(store_dsn, password=SECRET), connect_retries=0)
    with psycopg.connect(store_dsn, autocommit=True) as session:
        # Until the process is gone: before that, a client may not see it yet.
        ended = session.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = 'harel'"
        )
        assert ended.fetchall() == [(True,)]
    store.load("x")
    store.close()
    assert SECRET not in caplog.text
    assert SECRET not in repr(store)


@pytest.mark.parametrize("wrong", ["no scheme", "a bad escape", "refused"])
@pytest.mark.parametrize("how", ["option", "environment"])
def test_no_output_of_the_command_line_has_it(wrong: str, how: str, store_dsn: str) -> None:
    dsn = WRONG.get(wrong) or refused(store_dsn)
    done = subprocess.run(
        [sys.executable, "-m", "harel", "worker", "string:digits", *(["--dsn", dsn] if how == "option" else [])],
        env={**os.environ, **({"HAREL_DSN": dsn} if how == "environment" else {})},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0
    assert SECRET not in done.stdout + done.stderr
