"""A Unix socket in front of a server that cuts, mutes or delays connections at exact moments of a request."""

import os
import random
import socket
import struct
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from threading import Event, Lock, Thread

from psycopg.conninfo import conninfo_to_dict, make_conninfo

# Seconds of a delay, more than a request takes and less than anyone waits.
DELAY = 0.05


class Cut(StrEnum):
    """What can be done to a connection at a request."""

    BEFORE = "cut before the server has the request"
    SENT = "cut while the server is at it"
    AFTER = "cut after the server has done it, before a byte of the answer"
    MIDDLE = "cut in the middle of the answer"
    MUTE = "half open: the request never arrives"
    DEAF = "half open: the answer never arrives"
    DELAY = "the request arrives late"
    DELAY_ANSWER = "the answer arrives late"


class Proxy:
    """A proxy for any number of connections; what is done to a request is decided by `decide`, given its SQL.

    A half-open connection stays so until release() or the end, and is then cut.
    """

    def __init__(self, dsn: str, decide: Callable[[str], Cut | None] = lambda sql: None) -> None:
        self.decide = decide
        self.cuts: list[Cut] = []
        self._releases = 0
        self._server = _address(dsn)
        self._folder = tempfile.TemporaryDirectory(prefix="harel-")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(os.path.join(self._folder.name, ".s.PGSQL.5432"))
        self._listener.listen(128)
        self._lock = Lock()
        self._open: set[_Connection] = set()
        self._thread = Thread(target=self._accept)
        # Nothing is encrypted, or the messages could not be told apart.
        self.dsn = make_conninfo(dsn, host=self._folder.name, port=5432, sslmode="disable", gssencmode="disable")

    def __enter__(self) -> "Proxy":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Closing alone does not wake who waits in accept().
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()
        for connection in self._connections():
            connection.cut()
            connection.join()
        self._folder.cleanup()

    def once(self, cut: Cut, word: str, times: int = 1) -> None:
        """Does this to the next requests in whose SQL the word stands, so many times."""
        left = [cut] * times
        self.decide = lambda sql: left.pop() if word in sql and left else None

    def at_random(self, chance: random.Random, cuts: list[Cut], rate: float) -> None:
        """Does one of these to a request, at this rate."""
        self.decide = lambda sql: chance.choice(cuts) if chance.random() < rate else None

    def release(self) -> None:
        """Does nothing more, and cuts what is half open or is about to be."""
        self.decide = lambda sql: None
        with self._lock:
            self._releases += 1
            held = [connection for connection in self._open if connection.half_open]
        for connection in held:
            connection.cut()

    def cut_all(self) -> None:
        """Cuts every connection, wherever it is, unless it is still being made: a client would be right to give up."""
        for connection in self._connections():
            if connection.is_made:
                connection.cut()

    def decided(self, sql: str) -> tuple[Cut | None, int]:
        """What is to be done to a request, and how often there was a release before that."""
        releases = self._releases
        return self.decide(sql), releases

    def holds(self, connection: "_Connection", releases: int) -> bool:
        """Marks the connection as half open, unless there was a release since that was decided."""
        with self._lock:
            connection.half_open = releases == self._releases
            return connection.half_open

    def _connections(self) -> "list[_Connection]":
        with self._lock:
            return list(self._open)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = _connect(self._server)
            except OSError:
                client.close()
                continue
            connection = _Connection(client, server, self)
            with self._lock:
                self._open = {one for one in self._open if not one.over} | {connection}
            connection.start()


class _Connection:
    """The two directions of a connection, each with a thread."""

    def __init__(self, client: socket.socket, server: socket.socket, proxy: Proxy) -> None:
        self.half_open = False
        # Whether a request with SQL has come by it.
        self.is_made = False
        self._client = client
        self._server = server
        self._proxy = proxy
        self._prepared: dict[bytes, str] = {}
        # What is to be done to the answer that comes next; set before its request is sent.
        self._answer: Cut | None = None
        self._releases = 0
        self._cut = Event()
        self._threads = [Thread(target=self._forward), Thread(target=self._return)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    @property
    def over(self) -> bool:
        return not any(thread.is_alive() for thread in self._threads)

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def cut(self) -> None:
        """Ends both directions at once, as a reset does."""
        self._cut.set()
        for end in (self._client, self._server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _forward(self) -> None:
        """Passes requests on: whole ones, each of the messages up to a Sync or of a Query."""
        with suppress(OSError):
            startup = True
            buffer, request, sql = b"", b"", ""
            while received := self._client.recv(65536):
                buffer += received
                while message := _first_message(buffer, startup):
                    buffer = buffer[len(message) :]
                    request += message
                    if not startup:
                        sql = self._sql(message) or sql
                    if startup or message[:1] not in b"PBDECH":
                        self._pass_on(request, "" if startup else sql)
                        request, sql = b"", ""
                    startup = False
        self.cut()
        self._client.close()

    def _pass_on(self, request: bytes, sql: str) -> None:
        cut = None
        if sql:
            self.is_made = True
            cut, self._releases = self._proxy.decided(sql)
        if cut is not None:
            self._proxy.cuts.append(cut)
        if cut is Cut.BEFORE:
            raise OSError
        if cut is Cut.MUTE:
            self._hold()
        if cut is Cut.DELAY:
            time.sleep(DELAY)
        self._answer = cut if cut in (Cut.SENT, Cut.AFTER, Cut.MIDDLE, Cut.DEAF, Cut.DELAY_ANSWER) else None
        self._server.sendall(request)
        if cut is Cut.SENT:
            raise OSError

    def _return(self) -> None:
        """Passes answers on, a whole one at a time where something is to be done to it."""
        answer = b""
        with suppress(OSError):
            while received := self._server.recv(65536):
                answer += received
                cut = self._answer
                if cut is None:
                    self._client.sendall(answer)
                    answer = b""
                elif cut is Cut.SENT:
                    # The server may be quicker than the thread that is about to cut.
                    answer = b""
                elif not _is_complete(answer):
                    continue
                elif cut is Cut.DELAY_ANSWER:
                    time.sleep(DELAY)
                    # Before it, as with it the next request may come, and another thread sets what is to be done then.
                    self._answer = None
                    self._client.sendall(answer)
                    answer = b""
                elif cut is Cut.DEAF:
                    self._hold()
                else:
                    if cut is Cut.MIDDLE:
                        self._client.sendall(answer[: len(answer) // 2])
                    raise OSError
        self.cut()
        self._server.close()

    def _hold(self) -> None:
        if self._proxy.holds(self, self._releases):
            self._cut.wait()
        raise OSError

    def _sql(self, message: bytes) -> str | None:
        """The SQL that a message brings or names."""
        kind, body = message[:1], message[5:]
        if kind == b"Q":
            return body.split(b"\0", 1)[0].decode()
        if kind == b"P":
            name, text, _ = body.split(b"\0", 2)
            self._prepared[name] = text.decode()
            return self._prepared[name]
        if kind == b"B":
            return self._prepared.get(body.split(b"\0", 2)[1])
        return None


def _first_message(buffer: bytes, startup: bool) -> bytes:
    """The first message if it is whole. Only the first one of a connection has no byte for its kind."""
    start = 0 if startup else 1
    if len(buffer) < start + 4:
        return b""
    (length,) = struct.unpack_from("!i", buffer, start)
    return buffer[: start + length] if len(buffer) >= start + length else b""


def _is_complete(answer: bytes) -> bool:
    """Whether an answer has come to its end, which is ReadyForQuery."""
    return len(answer) >= 6 and answer[-6:-1] == b"Z\0\0\0\5"


def _address(dsn: str) -> str | tuple[str, int]:
    where = conninfo_to_dict(dsn)
    host, port = str(where.get("host") or "localhost"), int(where.get("port") or 5432)
    return f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, port)


def _connect(address: str | tuple[str, int]) -> socket.socket:
    if not isinstance(address, str):
        return socket.create_connection(address)
    server = socket.socket(socket.AF_UNIX)
    try:
        server.connect(address)
    except OSError:
        server.close()
        raise
    return server
