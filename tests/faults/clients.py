"""Those who apply a log while they are disturbed: clients of a store, and workers over the queue.

A client keeps a journal of the commits that were acknowledged to it, in a file that outlives a killed process. Each
commit bears a mark in its trace entry, so that the very commit is found again and not one that did the same.
"""

import asyncio
import json
import logging
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

from harel import AsyncPostgresStore, CommitOutcomeUnknown, Execution, PostgresStore, StoreConflict
from harel.replay import Log, machine, read_log, row_event
from harel.worker import Worker

# The execution that is counted up without event ids, and how often by each client.
COUNTER = "counter"
COUNTS = 25

# A server that is down is waited for this long.
WAITING: dict[str, Any] = {"connect_retries": 400, "retry_delay": 0.05}

_PROCESSES = get_context("forkserver")
_PROCESSES.set_forkserver_preload([__name__])


@dataclass(frozen=True)
class Task:
    """What a client has to do: the log, how it connects, by what chance, and where its journal is."""

    kind: str
    log: Path
    dsn: str
    direct: str
    seed: int
    journal: Path
    # How often an asynchronous commit is cancelled.
    cancels: float = 0.0

    @property
    def stop(self) -> Path:
        """The file whose presence tells workers to end. What processes share would not outlive the death of one."""
        return self.journal.with_name("stop")


class Interrupted(Exception):
    """A commit that was cancelled: whether it was carried out is open."""


class Client:
    """Applies each event of a log unless it has been applied, and counts; whatever is raised, it goes on.

    It does what the documentation of a store says: after a conflict or a lost connection it loads the execution again.
    """

    def __init__(self, task: Task, log: Log, store: Any) -> None:
        self._task = task
        self._log = log
        self._store = store
        self._apply = machine(log.waits)
        self._chance = random.Random(task.seed)
        self._journal = os.open(task.journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    async def work(self) -> None:
        """Returns when every event has been applied, by whomever."""
        cases = list(self._log.cases)
        self._chance.shuffle(cases)
        await asyncio.gather(self._count(), *(self._work(cases[part::2]) for part in range(2)))
        os.close(self._journal)

    async def _work(self, cases: list[str]) -> None:
        for case in cases:
            for position in range(len(self._log.cases[case])):
                while not await self._tried(self._applied, case, position):
                    pass

    async def _count(self) -> None:
        for _ in range(COUNTS):
            while not await self._tried(self._counted):
                pass

    async def _tried(self, attempt: Callable[..., Any], *args: Any) -> bool:
        try:
            await attempt(*args)
            return True
        except (StoreConflict, CommitOutcomeUnknown, Interrupted, psycopg.OperationalError) as error:
            self._note({"error": type(error).__name__})
            return False
        finally:
            # So that the three of work() take turns also where a store blocks.
            await asyncio.sleep(0)

    async def _applied(self, case: str, position: int) -> None:
        event = row_event(case, self._log.cases[case], position)
        exe, already_processed = await self._store.load_for_event(case, event.id)
        if already_processed:
            return
        if exe is None:
            exe = Execution(id=case, definition_id=self._log.definition_id, context={"position": 0})
            await self._store.save(exe)
        step: Any = self._apply(exe, event)
        mark = {"mark": uuid4().hex}
        commit = self._store.commit(exe, step.emits, event.id, step.timers, trace={**step.trace, **mark})
        await self._cancelled_perhaps(commit)
        self._note({**mark, "id": case, "version": exe.version, "outcome": "committed"})

    async def _counted(self) -> None:
        """Counts up; the data of two who do it at once is the same, byte for byte."""
        exe = await self._store.load(COUNTER)
        if exe is None:
            exe = Execution(id=COUNTER, definition_id="counters", context={"n": 0})
        exe.context["n"] += 1
        note: dict[str, Any] = {"mark": uuid4().hex, "id": COUNTER, "expected": exe.version}
        try:
            await self._cancelled_perhaps(self._store.commit(exe, [], trace={"mark": note["mark"]}))
        except StoreConflict:
            self._note({**note, "outcome": "conflict"})
            raise
        except CommitOutcomeUnknown:
            self._note({**note, "outcome": "unknown", "found": await asyncio.to_thread(self._version)})
            raise
        except BaseException:
            self._note({**note, "outcome": "raised"})
            raise
        self._note({**note, "version": exe.version, "outcome": "committed"})

    def _version(self) -> int:
        """The version of the counter as the server has it, by a way that nobody disturbs."""
        store = PostgresStore.from_dsn(self._task.direct, **WAITING)
        try:
            exe = store.load(COUNTER)
            return exe.version if exe else 0
        finally:
            store.close()

    async def _cancelled_perhaps(self, commit: Any) -> None:
        if self._chance.random() >= self._task.cancels:
            await commit
            return
        task = asyncio.ensure_future(commit)
        for _ in range(self._chance.randrange(12)):
            await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            raise Interrupted from None

    def _note(self, note: dict[str, Any]) -> None:
        # One write of a short line is not torn by the death of the process.
        os.write(self._journal, (json.dumps(note) + "\n").encode())


class Awaitable:
    """The face of an asynchronous store over a synchronous one."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            return getattr(self._store, name)(*args, **kwargs)

        return call


def run_client(task: Task) -> None:
    """The life of a client, in a thread or a process of its own."""
    logging.disable()
    log = read_log(task.log)

    async def run() -> None:
        store: Any
        while True:
            # A timeout, or an end, may come before there is a store to go on with.
            with suppress(psycopg.OperationalError):
                if task.kind == "sync":
                    store = Awaitable(PostgresStore.from_dsn(task.dsn, trace_max=0, **WAITING))
                else:
                    store = await AsyncPostgresStore.from_dsn(task.dsn, pool_size=3, trace_max=0, **WAITING)
                break
        await Client(task, log, store).work()
        await store.close()

    asyncio.run(run())


def run_worker(task: Task) -> None:
    """The life of a worker, in a thread or a process of its own, until it is told to stop."""
    logging.disable()
    log = read_log(task.log)

    async def run() -> None:
        worker = Worker(
            task.dsn, {log.definition_id: machine(log.waits)}, visibility=1.0, poll=0.2, batch=5, concurrency=10,
            trace_max=0,
        )  # fmt: skip
        stopping = asyncio.create_task(stopped(worker))
        await worker.run()
        stopping.cancel()

    async def stopped(worker: Worker) -> None:
        while not task.stop.exists():
            await asyncio.sleep(0.05)
        worker.stop()

    asyncio.run(run())


class InThread:
    """A member that cannot be killed: whatever is done to its connections, it has to go on to its end."""

    def __init__(self, body: Callable[[], None]) -> None:
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(body,), daemon=True)
        self._thread.start()

    def _run(self, body: Callable[[], None]) -> None:
        try:
            body()
        except BaseException as error:
            self._failure = error

    def ended(self) -> bool:
        if self._failure is not None:
            raise self._failure
        return not self._thread.is_alive()


class InProcess:
    """A member that is born again when it is killed."""

    def __init__(self, target: Callable[..., None], *args: Any) -> None:
        self._lock = threading.Lock()
        self._target, self._args = target, args
        self._start()

    def kill(self) -> bool:
        """Kills it unless it is done, and starts another in its place."""
        with self._lock:
            if not self._process.is_alive():
                return False
            self.stop()
            self._start()
            return True

    def ended(self) -> bool:
        with self._lock:
            if self._process.is_alive():
                return False
            assert self._process.exitcode == 0, f"a client has ended with exit code {self._process.exitcode}"
            return True

    def stop(self) -> None:
        self._process.kill()
        self._process.join()

    def _start(self) -> None:
        self._process = _PROCESSES.Process(target=self._target, args=self._args, daemon=True)
        self._process.start()


def notes(folder: Path) -> list[dict[str, Any]]:
    """What all journals in a folder say."""
    found = []
    for path in sorted(folder.glob("*.journal")):
        lines = path.read_bytes().split(b"\n")
        found += [json.loads(line) for line in lines if line]
    return found


def tally(entries: list[dict[str, Any]]) -> Counter[str]:
    """How many commits were acknowledged, and what was raised how often."""
    return Counter(entry.get("error") or entry["outcome"] for entry in entries)


def until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Waits for a condition; fails, saying what was waited for, where it does not come true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds:g} s in vain: {what}"
        time.sleep(0.02)
