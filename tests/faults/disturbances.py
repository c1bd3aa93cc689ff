"""What is done to the server, to connections and to processes while a log is applied."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from cluster import Standby
from harel.embedded import EmbeddedServer, EmbeddedServerError
from harel.replay import Log

from .clients import InProcess
from .proxy import Cut, Proxy


class Disturbance:
    """Something that is done at random moments between begin() and end(): so many `times`, or again and again.

    `options` are settings of the sessions that are disturbed.
    """

    options = ""
    in_processes = False
    # Whether clients connect by the proxy.
    proxied = True
    # In the middle of the work, by how much of it is done; 0: at any time, as long as it lasts.
    times = 0
    # Seconds between one time and the next, at most.
    pause = 0.15

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.tally: Counter[str] = Counter()
        self._over = Event()
        self._failure: BaseException | None = None
        self._thread = Thread(target=self._run)

    def begin(self, server: EmbeddedServer, dsn: str, proxy: Proxy, members: list[Any], log: Log) -> None:
        self.server, self.dsn, self.proxy, self.members, self.log = server, dsn, proxy, members, log
        self.prepare()
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()
        self.recover()
        if self._failure is not None:
            raise self._failure

    def prepare(self) -> None:
        """What is done once, before."""

    def disturb(self) -> None:
        """What is done each time."""

    def recover(self) -> None:
        """What has to be undone after it."""

    def _run(self) -> None:
        try:
            moments = sorted(self.chance.random() * 0.8 * self.log.events for _ in range(self.times))
            for moment in moments:
                while self._done() < moment and not self._over.wait(0.01):
                    pass
                self.disturb()
            while not self.times and not self._over.wait(self.chance.uniform(0, self.pause)):
                self.disturb()
        except BaseException as error:
            self._failure = error

    def _done(self) -> int:
        """How many events have been applied."""
        with suppress(psycopg.OperationalError), psycopg.connect(self.dsn) as session:
            [(events,)] = session.execute(_DONE, [self.log.definition_id])
            return int(events)
        return 0

    def _rest(self, seconds: float) -> None:
        self._over.wait(seconds)


class Kill(Disturbance):
    """SIGKILL of a client or worker process."""

    in_processes = True
    times = 4

    def prepare(self) -> None:
        # Whoever is killed later may be done already.
        self.disturb()

    def disturb(self) -> None:
        members: list[InProcess] = self.chance.sample(self.members, len(self.members))
        self.tally["kills"] += any(member.kill() for member in members)


class Crash(Disturbance):
    """The server is stopped at once, as by a crash, and started again."""

    times = 2

    def disturb(self) -> None:
        self.server.stop("immediate")
        self._rest(self.chance.uniform(0, 0.2))
        self.server.start()
        self.tally["crashes"] += 1


class Terminate(Disturbance):
    """pg_terminate_backend() of any backends."""

    def disturb(self) -> None:
        with suppress(psycopg.OperationalError), psycopg.connect(self.dsn, autocommit=True) as session:
            pids = [pid for (pid,) in session.execute(_BACKENDS)]
            for pid in self.chance.sample(pids, min(len(pids), self.chance.randint(1, 4))):
                session.execute("SELECT pg_terminate_backend(%s::integer)", [pid])
                self.tally["terminations"] += 1


class TerminateCommitted(Disturbance):
    """pg_terminate_backend() of backends that have committed and not yet said so, as they wait for a standby."""

    def disturb(self) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as session:
            session.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
            session.execute("SELECT pg_reload_conf()")
            until = time.monotonic() + self.chance.uniform(0.05, 0.2)
            while time.monotonic() < until and not self._over.is_set():
                for (pid,) in session.execute(WAITING_FOR_STANDBY).fetchall():
                    session.execute("SELECT pg_terminate_backend(%s::integer)", [pid])
                    self.tally["terminations"] += 1
                self._rest(0.02)
            self.recover()

    def recover(self) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as session:
            session.execute("ALTER SYSTEM RESET synchronous_standby_names")
            session.execute("SELECT pg_reload_conf()")


class Timeouts(Disturbance):
    """Others hold locks for longer than sessions may wait, or statements take."""

    options = "-c lock_timeout=50ms -c statement_timeout=150ms"

    def disturb(self) -> None:
        with psycopg.connect(self.dsn, options="") as session:
            if self.chance.random() < 0.5:
                session.execute("LOCK TABLE executions IN ACCESS EXCLUSIVE MODE")
            else:
                session.execute("SELECT FROM executions WHERE random() < 0.5 FOR UPDATE SKIP LOCKED")
            self._rest(self.chance.uniform(0, 0.3))
            session.rollback()
        self.tally["locks"] += 1


class Network(Disturbance):
    """Connections are cut, half open or slow, at any moment of a request."""

    def prepare(self) -> None:
        self.proxy.at_random(self.chance, list(Cut), 0.08)

    def disturb(self) -> None:
        self.proxy.release()
        if self.chance.random() < 0.2:
            self.proxy.cut_all()
        self.prepare()

    def recover(self) -> None:
        self.proxy.release()
        self.tally["cuts"] = len(self.proxy.cuts)


class LostAnswers(Disturbance):
    """The answer of every fourth request is lost after the server has done what it was asked."""

    def prepare(self) -> None:
        self.proxy.at_random(self.chance, [Cut.AFTER, Cut.MIDDLE, Cut.SENT], 0.25)

    recover = Network.recover


class Cancel(Disturbance):
    """Tasks are cancelled in the middle of a commit; the clients see to it themselves."""


class FullDisk(Disturbance):
    """The disk of the WAL is full, so that the server goes down; then there is room again and it is started."""

    times = 2
    wal: Path

    def disturb(self) -> None:
        filler = self.wal / "filler"
        with suppress(OSError), open(filler, "wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
        deadline = time.monotonic() + 30
        with suppress(psycopg.OperationalError), psycopg.connect(self.dsn, autocommit=True) as session:
            while True:
                # To the next segment, for which there is no room, before long.
                session.execute("SELECT pg_logical_emit_message(true, 'filler', repeat('x', 1000000))")
                assert time.monotonic() < deadline, "the disk is full, and the server does not mind"
        filler.unlink()
        # It may have come up by itself, or have failed to.
        with suppress(EmbeddedServerError):
            self.server.stop("immediate")
        self.server.start()
        self.tally["full disks"] += 1


class Failover(Disturbance):
    """The primary is lost while commits wait for the standby, which is promoted in its place.

    Of those that wait, some backends are terminated before: what they have committed can be seen, and will be lost.
    """

    proxied = False
    times = 1
    standby: Standby

    def disturb(self) -> None:
        with (
            psycopg.connect(self.server.dsn, autocommit=True) as primary,
            psycopg.connect(self.standby.dsn, autocommit=True) as standby,
        ):
            [(receiver,)] = standby.execute("SELECT pid FROM pg_stat_wal_receiver")
            os.kill(receiver, signal.SIGSTOP)
            until = time.monotonic() + self.chance.uniform(0, 0.5)
            while time.monotonic() < until:
                for (pid,) in primary.execute(WAITING_FOR_STANDBY).fetchall():
                    primary.execute("SELECT pg_terminate_backend(%s::integer)", [pid])
                    self.tally["terminations"] += 1
                self._rest(0.02)
            self.server.stop("immediate")
        os.kill(receiver, signal.SIGCONT)
        self._rest(self.chance.uniform(0, 0.5))
        self.standby.promote()
        self.tally["failovers"] += 1


_DONE = "SELECT coalesce(sum(version - 1), 0) FROM executions WHERE definition_id = %s"

_BACKENDS = """
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""

WAITING_FOR_STANDBY = """
    SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND wait_event = 'SyncRep'
"""


def with_options(dsn: str, options: str) -> str:
    """The DSN with settings for its sessions."""
    return make_conninfo(dsn, options=options) if options else dsn


DISTURBANCES: dict[str, Callable[[random.Random], Disturbance]] = {
    kind.__name__: kind for kind in (Kill, Crash, Terminate, TerminateCommitted, Timeouts, Network, LostAnswers, Cancel)
}
