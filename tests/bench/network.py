"""A network with a delay: a proxy on a Unix socket, in a process of its own, in front of a server's."""

import itertools
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

_CHUNK = 1 << 18
# No ports, only names of sockets.
_ports = itertools.count(20_000)


@contextmanager
def delayed(dsn: str, round_trip: float) -> Iterator[str]:
    """The DSN of the same server behind a network in which a round trip takes so many seconds more."""
    if not round_trip:
        yield dsn
        return
    where = conninfo_to_dict(dsn)
    server = f"{where['host']}/.s.PGSQL.{where['port']}"
    folder, port = Path(str(where["host"])), str(next(_ports))
    listen = folder / f".s.PGSQL.{port}"
    command = [sys.executable, "-m", __spec__.name, str(listen), server, str(round_trip / 2)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as proxy:
        try:
            assert proxy.stdout
            if proxy.stdout.readline() != "ready\n":
                raise RuntimeError("the delaying proxy did not start")
            yield make_conninfo(dsn, port=port)
        finally:
            proxy.kill()
            listen.unlink(missing_ok=True)


def _pump(source: socket.socket, target: socket.socket, delay: float) -> None:
    """Passes on what comes in, each piece so many seconds later than it came."""
    pieces: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def send() -> None:
        while True:
            due, piece = pieces.get()
            time.sleep(max(0.0, due - time.perf_counter()))
            try:
                if not piece:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(piece)
            except OSError:
                return

    threading.Thread(target=send, daemon=True).start()
    while True:
        try:
            piece = source.recv(_CHUNK)
        except OSError:
            piece = b""
        pieces.put((time.perf_counter() + delay, piece))
        if not piece:
            return


def main() -> None:
    listen, server, delay = sys.argv[1:]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(listen)
        listener.listen(128)
        print("ready", flush=True)
        while True:
            client, _ = listener.accept()
            upstream = socket.socket(socket.AF_UNIX)
            upstream.connect(server)
            for ends in ((client, upstream), (upstream, client)):
                threading.Thread(target=_pump, args=(*ends, float(delay)), daemon=True).start()


if __name__ == "__main__":
    os.umask(0o077)
    main()
