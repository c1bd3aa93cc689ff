"""What tests of both clients share: one way to call them, a proxy that counts what they send, and waiting for locks."""

import asyncio
import os
import socket
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from threading import Thread
from typing import Any, Protocol, cast

import psycopg
from psycopg.conninfo import make_conninfo

from cluster import nodes_of
from harel import (
    AsyncPostgresStore,
    AsyncPostgresTransport,
    ExecutionStore,
    PostgresStore,
    PostgresTransport,
)

KINDS = ("sync", "async")

# Far longer than anything waited for takes.
DEADLINE = 30.0

# For four seconds the floor of claims stays where it is, so that what is published before and committed late is found
# at the next look. Any longer, and the clock would be taken for one that was set back.
LEAVE_FLOOR = "SELECT setval('transport_tend_at', (extract(epoch FROM clock_timestamp() + '4 s') * 1000000)::bigint)"


class Called:
    """An asynchronous client, called from any thread as if it were the synchronous one."""

    def __init__(self, client: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._client = client
        self._loop = loop

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)
        return lambda *args, **kwargs: asyncio.run_coroutine_threadsafe(method(*args, **kwargs), self._loop).result()


@contextmanager
def opened(kind: str, dsn: str, **options: Any) -> Iterator[ExecutionStore]:
    """A store of one of the KINDS with connections of its own; `options` are those of from_dsn()."""
    with _client(kind, dsn, PostgresStore, AsyncPostgresStore, options) as store:
        yield store


@contextmanager
def opened_transport(kind: str, dsn: str, **options: Any) -> Iterator[PostgresTransport]:
    """A transport of one of the KINDS with connections of its own; `options` are those of from_dsn()."""
    with _client(kind, dsn, PostgresTransport, AsyncPostgresTransport, options) as transport:
        yield transport


@contextmanager
def _client(kind: str, dsn: str, sync: Any, asynchronous: Any, options: dict[str, Any]) -> Iterator[Any]:
    if kind == "sync":
        client = sync.from_dsn(dsn, **options)
        try:
            yield client
        finally:
            client.close()
        return
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    try:
        opening = asyncio.run_coroutine_threadsafe(asynchronous.from_dsn(dsn, **options), loop)
        called = Called(opening.result(), loop)
        try:
            yield called
        finally:
            called.close()
    finally:
        asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _cancel_all() -> None:
    """Nobody who waits for a call must wait for ever because the loop ends first."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def until(condition: Callable[[], Any]) -> Any:
    """Waits until the condition gives something true, and returns that."""
    deadline = time.monotonic() + DEADLINE
    while not (result := condition()):
        assert time.monotonic() < deadline, "waited in vain"
    return result


class Call(Protocol):
    """A future or a task."""

    def done(self) -> bool: ...
    def result(self) -> Any: ...


def until_blocked(dsn: str, *calls: Call) -> list[int]:
    """Waits until as many sessions of the database as there are calls wait for locks, and returns their backends.

    Of several nodes each waits on the one that has what it waits for.
    """
    query = """
        SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0
    """
    with ExitStack() as closing:
        observers = [closing.enter_context(psycopg.connect(node, autocommit=True)) for node in nodes_of(dsn)]

        def blocked() -> list[int]:
            for call in calls:
                assert not call.done(), f"not blocked, but done: {call.result()}"
            pids = [pid for observer in observers for (pid,) in observer.execute(query)]
            return pids if len(pids) >= max(1, len(calls)) else []

        return cast(list[int], until(blocked))


class Beside:
    """Runs calls in threads of their own and sees each wait for a lock."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._threads = ThreadPoolExecutor(32)
        self._calls: list[Future[Any]] = []

    def __enter__(self) -> "Beside":
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown()

    def blocked(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """The call, which now waits, as do those before it that are not done."""
        self._calls = [call for call in self._calls if not call.done()]
        self._calls.append(self._threads.submit(call, *arguments))
        until_blocked(self._dsn, *self._calls)
        return self._calls[-1]


class Proxy:
    """A Unix socket in front of a server that notes each message which clients send."""

    def __init__(self, dsn: str) -> None:
        with psycopg.connect(dsn) as connection:
            info = connection.info
            self._server = (info.host, info.port)
        self._folder = tempfile.TemporaryDirectory(prefix="harel-")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(os.path.join(self._folder.name, ".s.PGSQL.5432"))
        self._listener.listen()
        self._threads = [Thread(target=self._accept)]
        self._sockets: list[socket.socket] = []
        # Nothing is encrypted, or the messages could not be read.
        self.dsn = make_conninfo(dsn, host=self._folder.name, port=5432, sslmode="disable", gssencmode="disable")
        self.messages: list[tuple[str, bytes]] = []

    def __enter__(self) -> "Proxy":
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        # Closing alone does not wake who waits in accept() or recv().
        for end in (self._listener, *self._sockets):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for end in (self._listener, *self._sockets):
            end.close()
        self._folder.cleanup()

    @property
    def round_trips(self) -> int:
        """How often a client asked for an answer: by Query, Sync, Flush or a function call."""
        return sum(kind in "QSHF" for kind, _ in self.messages)

    @property
    def statements(self) -> list[str]:
        """The SQL of the messages Query and Parse."""
        texts = [body if kind == "Q" else body.split(b"\0", 1)[1] for kind, body in self.messages if kind in "QP"]
        return [text.split(b"\0", 1)[0].decode() for text in texts]

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = self._connect()
            self._sockets += [client, server]
            for pump in (self._listen, self._pass_on):
                thread = Thread(target=pump, args=(client, server))
                self._threads.append(thread)
                thread.start()

    def _connect(self) -> socket.socket:
        host, port = self._server
        if not host.startswith("/"):
            return socket.create_connection((host, port))
        server = socket.socket(socket.AF_UNIX)
        server.connect(os.path.join(host, f".s.PGSQL.{port}"))
        return server

    def _listen(self, client: socket.socket, server: socket.socket) -> None:
        """Passes on what the client sends, and notes it first, so that it is noted before the answer comes."""
        buffer = b""
        started = False
        with suppress(OSError):
            while received := client.recv(65536):
                buffer += received
                # Only the first message of a connection has no byte for its kind.
                while len(buffer) >= 5:
                    start = 1 if started else 0
                    (length,) = struct.unpack_from("!i", buffer, start)
                    if len(buffer) < start + length:
                        break
                    # A connection that has ended says so whenever its thread comes to it.
                    if started and buffer[:1] != b"X":
                        self.messages.append((chr(buffer[0]), buffer[5 : start + length]))
                    started = True
                    buffer = buffer[start + length :]
                server.sendall(received)
            server.shutdown(socket.SHUT_WR)

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while received := server.recv(65536):
                client.sendall(received)
            client.shutdown(socket.SHUT_WR)
