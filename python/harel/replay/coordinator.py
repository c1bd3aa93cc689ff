"""The coordinator of a replay: it publishes the events of a log while worker processes handle them, and kills some."""

import os
import random
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import count
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg

from ..engine.execution import Execution
from ..engine.store._calls import quoted
from ..engine.store._connect import connect
from ..engine.store._install import find_store, not_installed
from ..engine.transport import PostgresTransport
from ..spec.states import Event
from .log import Log
from .worker import ReplayError, row_event, work

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

    from .worker import Channel

Result = TypeVar("Result")

# Rows published by one transaction.
_CHUNK = 500

# Seconds between looks at what is done.
_LOOK_EVERY = 0.1

# A server that is down is waited for this long, and what it has not answered is tried this often.
_CONNECT_RETRIES, _RETRY_DELAY = 300, 0.1
_ATTEMPTS = 3

# A worker that was told to stop is given so many seconds.
_STOPPING = 30.0

_CREATE = """
SELECT id FROM {schema}.harel_commit_batch(%s::text[], %s::text[], %s::text[], %s::bigint[]) WHERE NOT committed
"""

_PUBLISHED = """
SELECT EXISTS (SELECT FROM {schema}.processed_events WHERE execution_id = %(case)s AND event_id = %(event)s)
    OR EXISTS (SELECT FROM {schema}.transport_messages WHERE group_id = %(case)s AND event::json ->> 'id' = %(event)s)
"""

# How many events are done, and whether none is left to do.
_DONE = """
SELECT
    (
        SELECT count(*) = 0 FROM (
            SELECT g.group_id FROM {schema}.transport_groups g JOIN {schema}.executions e ON e.id = g.group_id
            WHERE e.definition_id = %(definition)s
            LIMIT 1
        ) g
    ),
    (SELECT coalesce(sum(version - 1), 0)::integer FROM {schema}.executions WHERE definition_id = %(definition)s)
"""

_LEASES = """
SELECT worker, count(*) FROM {schema}.transport_groups
WHERE worker = ANY (%s) AND available_at > extract(epoch FROM clock_timestamp())
GROUP BY worker
"""


@dataclass(frozen=True)
class Kill:
    """A worker that was killed: what it had handled by its last report, the leases it left, and who came after it."""

    worker: int
    pid: int
    handled: int
    leases: int
    successor: int


@dataclass
class Replayed:
    """A replay that has come to its end: all events were done `seconds` after the first was published.

    `tally` is what the workers said that they did; what one did between its last word and its death is missing.
    """

    seconds: float = 0.0
    tally: Counter[str] = field(default_factory=Counter)
    kills: list[Kill] = field(default_factory=list)
    crashes: int = 0


@dataclass
class _Worker:
    number: int
    name: str
    process: "SpawnProcess"
    channel: "Channel"
    tally: Counter[str] | None = None

    def hear(self) -> None:
        """Takes what the worker has said."""
        # It may be gone, or have been killed in the middle of a word.
        with suppress(EOFError, OSError):
            while self.channel.poll():
                report = self.channel.recv()
                if isinstance(report, str):
                    raise ReplayError(f"worker {self.number} has failed: {report}")
                self.tally = report


class Replay:
    """A replay of a log through the queue of a database, to be run once; the store has to be there.

    One that was broken off is continued by another of the same log.

    workers: how many processes.
    kills: how often, at random moments, a worker is killed in the middle of its work or the server crashed.
    crash: crashes the server and starts it again; without it only workers are killed.
    seed: decides when and who.
    visibility: seconds until the messages of a killed worker come back.
    progressed, killed: told how many events are done, and of each kill.
    """

    def __init__(
        self,
        log: Log,
        dsn: str,
        *,
        schema: str | None = None,
        workers: int = 4,
        kills: int = 0,
        crash: Callable[[], None] | None = None,
        seed: int | None = None,
        visibility: float = 2.0,
        progressed: Callable[[int], None] = lambda events: None,
        killed: Callable[[Kill], None] = lambda kill: None,
    ) -> None:
        if workers < 1:
            raise ValueError("a replay needs a worker")
        self._log = log
        self._dsn = dsn
        self._schema = schema
        self._size = workers
        self._crash = crash
        self._visibility = visibility
        self._progressed = progressed
        self._killed = killed
        self.seed = random.randrange(2**32) if seed is None else seed
        self._chance = random.Random(self.seed)
        self._result = Replayed()
        # The events done by then, and whether it is the server's turn. At the very end nobody would be at work.
        moments = sorted(self._chance.randrange(log.events) * 3 // 4 for _ in range(kills))
        self._plan = deque((moment, crash is not None and self._chance.random() < 0.3) for moment in moments)
        self._numbers = count(1)
        self._workers: list[_Worker] = []
        self._over = threading.Event()

    def run(self) -> Replayed:
        """Replays the log; no process is left at the end, however it ends. Raises ReplayError."""
        # Started now, because its start would unblock the signal that _start() blocks.
        resource_tracker.ensure_running()
        database, ours = self._database(), {"definition": self._log.definition_id}
        try:
            self._workers = [self._start() for _ in range(self._size)]
            while not all(worker.tally is not None for worker in self._workers):
                self._hear()
            started = time.monotonic()
            with ThreadPoolExecutor(1) as pool:
                try:
                    publishing = pool.submit(self._publish)
                    while True:
                        self._hear()
                        all_published = publishing.done()
                        if all_published:
                            publishing.result()
                        [(drained, events)] = database.run(database.query, _DONE, ours)
                        self._progressed(events)
                        if drained and all_published:
                            break
                        if self._plan and events >= self._plan[0][0] and self._disturb(database, self._plan[0][1]):
                            self._plan.popleft()
                finally:
                    self._over.set()
            self._result.seconds = time.monotonic() - started
            self._stop()
        finally:
            for worker in self._workers:
                worker.process.kill()
                worker.process.join()
                worker.channel.close()
            database.close()
        return self._result

    def _database(self) -> "_Database":
        return _Database(self._dsn, self._schema, self._over)

    def _publish(self) -> None:
        """Publishes the rows in the order of the log; with its first row each execution is created."""
        seen: Counter[str] = Counter()
        with closing(self._database()) as database:
            for start in range(0, self._log.events, _CHUNK):
                messages = []
                for case_id in self._log.order[start : start + _CHUNK]:
                    messages.append((case_id, row_event(case_id, self._log.cases[case_id], seen[case_id])))
                    seen[case_id] += 1
                if self._over.is_set():
                    break
                database.run(self._put, database, messages)

    def _put(self, database: "_Database", messages: Sequence[tuple[str, Event]]) -> None:
        first_case, first_event = messages[0]
        # They were, if only the answer was lost.
        [(published,)] = database.query(_PUBLISHED, {"case": first_case, "event": first_event.id})
        if published:
            return
        new = [
            Execution(id=case_id, definition_id=self._log.definition_id, context={"position": 0}, version=1)
            for case_id, event in messages
            if event.data["position"] == 0
        ]
        columns = zip(*((exe.id, exe.definition_id, exe.model_dump_json(), 0) for exe in new), strict=True)
        taken = database.query(_CREATE, tuple(map(list, columns))) if new else []
        if taken:
            raise ReplayError(f"there already is an execution with the id of case {taken[0][0]!r}")
        database.publish(messages)

    def _start(self) -> _Worker:
        context = get_context("spawn")
        theirs, ours = context.Pipe()
        number = next(self._numbers)
        name = f"replay of {self._log.definition_id}, worker {number}"
        process = context.Process(
            target=work,
            args=(
                theirs, name, self._dsn, self._schema, self._log.definition_id, dict(self._log.waits), self._visibility,
            ),
            name=name,
            daemon=True,
        )  # fmt: skip
        # Ctrl-C goes to every process of the terminal, and is for the coordinator alone to act on.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        theirs.close()
        return _Worker(number, name, process, ours)

    def _hear(self) -> None:
        """Takes the reports of all workers, after a while or when one has ended unasked."""
        ended = wait([worker.process.sentinel for worker in self._workers], _LOOK_EVERY)
        for worker in self._workers:
            worker.hear()
        for worker in self._workers:
            if worker.process.sentinel in ended:
                worker.process.join()
                code = worker.process.exitcode
                raise ReplayError(f"worker {worker.number} has ended with exit code {code} and no word")

    def _disturb(self, database: "_Database", the_server: bool) -> bool:
        """Crashes the server, or kills a worker and starts another; false if none was in the middle of its work."""
        if the_server and self._crash is not None:
            self._crash()
            self._result.crashes += 1
            return True
        at_work = dict(database.run(database.query, _LEASES, ([worker.name for worker in self._workers],)))
        able = [worker for worker in self._workers if worker.name in at_work]
        if not able:
            return False
        worker = self._chance.choice(able)
        pid = worker.process.pid
        if pid is None or not worker.process.is_alive():
            # It has ended unasked, which is told at the next look.
            return False
        # It stands still while we look, or it might settle what it holds meanwhile.
        os.kill(pid, signal.SIGSTOP)
        leases = dict(database.run(database.query, _LEASES, ([worker.name],)))
        if not leases:
            # It was just between two batches.
            os.kill(pid, signal.SIGCONT)
            return False
        worker.process.kill()
        worker.process.join()
        worker.hear()
        worker.channel.close()
        successor = self._start()
        self._workers[self._workers.index(worker)] = successor
        tally: Counter[str] = worker.tally or Counter()
        self._result.tally += tally
        pids = pid, successor.process.pid or 0
        kill = Kill(worker.number, pids[0], tally["finished"], leases[worker.name], pids[1])
        self._result.kills.append(kill)
        self._killed(kill)
        return True

    def _stop(self) -> None:
        """Lets the workers end in good order; one that has not begun just goes."""
        begun = [worker for worker in self._workers if worker.tally is not None]
        for worker in begun:
            worker.process.terminate()
        for worker in begun:
            worker.process.join(_STOPPING)
            worker.hear()
            if worker.process.exitcode != 0:
                raise ReplayError(f"worker {worker.number} has ended with exit code {worker.process.exitcode}")
            self._result.tally += worker.tally or Counter()


class _Database:
    """A connection that is made anew when the server has gone away, unless it is all over."""

    def __init__(self, dsn: str, schema: str | None, over: threading.Event) -> None:
        self._dsn = dsn
        self._schema = schema
        self._over = over
        self._connection: psycopg.Connection[Any] | None = None

    def run(self, work: Callable[..., Result], *args: Any) -> Result:
        """Calls work(*args) in a transaction, again where the server has gone away in the middle of it."""
        failures = 0
        while True:
            try:
                self._connection = self._connection or self._connect()
                with self._connection.transaction():
                    return work(*args)
            except psycopg.OperationalError:
                self.close()
                failures += 1
                if failures == _ATTEMPTS or self._over.is_set():
                    raise

    def _connect(self) -> "psycopg.Connection[Any]":
        for _ in range(_CONNECT_RETRIES):
            with suppress(psycopg.OperationalError):
                return connect(self._dsn, 0, 0)
            if self._over.wait(_RETRY_DELAY):
                break
        return connect(self._dsn, 0, 0)

    def query(self, query: str, params: Any) -> list[tuple[Any, ...]]:
        """The rows of a query on the store."""
        assert self._connection is not None
        call = find_store(self._schema)
        found = call.decode(self._connection.execute(call.sql, call.params).fetchall())
        if found is None:
            raise not_installed(self._schema)
        # In a query that has parameters a per cent sign is written twice.
        schema = quoted(found).replace("%", "%%")
        return self._connection.execute(query.replace("{schema}", schema).encode(), params).fetchall()

    def publish(self, messages: Sequence[tuple[str, Event]]) -> None:
        """Publishes in the transaction that is under way."""
        PostgresTransport(self._connection, schema=self._schema, create_schema=False).publish_many(messages)

    def close(self) -> None:
        """Closes the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
