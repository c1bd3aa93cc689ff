"""The console as it is served, over a real socket and a real store."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import psycopg
import pytest
import uvicorn
from wire import until

from harel.ui import create_app


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """Serves an application in a thread; gives its URL."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", access_log=False))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started or not thread.is_alive())
        (listener,) = server.servers[0].sockets
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


Open = Callable[..., httpx.Client]


@pytest.fixture
def console(store_dsn: str) -> Iterator[Open]:
    """Opens consoles over the test's store, with the options of create_app(); gives a client of each."""
    with ExitStack() as closing:

        def opened(dsn: str = store_dsn, **options: Any) -> httpx.Client:
            url = closing.enter_context(serving(create_app(dsn, **options)))
            return closing.enter_context(httpx.Client(base_url=url, timeout=30))

        yield opened


@pytest.fixture
def session(store_dsn: str) -> Iterator["psycopg.Connection[Any]"]:
    """A session of the store's owner, in autocommit."""
    with psycopg.connect(store_dsn, autocommit=True) as connection:
        yield connection
