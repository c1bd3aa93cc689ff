"""The console as it is served, over a real socket and a real store."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import psycopg
import pytest
from serving import serving
from visits import Open, Session

from harel.ui import create_app, database


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A console waits as long for a connection as a busy machine takes, unless the test is about that."""
    monkeypatch.setattr(database, "POOL_TIMEOUT", 30)
    monkeypatch.setattr(database, "CONNECT_TIMEOUT", 30)


@pytest.fixture
def console(store_dsn: str) -> Iterator[Open]:
    """Opens consoles over the test's store, with the options of create_app(); gives a client of each."""
    with ExitStack() as closing:

        def opened(dsn: str = store_dsn, **options: Any) -> httpx.Client:
            url = closing.enter_context(serving(create_app(dsn, **options)))
            return closing.enter_context(httpx.Client(base_url=url, timeout=30))

        yield opened


@pytest.fixture
def session(store_dsn: str) -> Iterator[Session]:
    """A session of the store's owner, in autocommit."""
    with psycopg.connect(store_dsn, autocommit=True) as connection:
        yield connection
