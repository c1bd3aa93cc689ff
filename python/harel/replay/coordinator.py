"""The coordinator of a replay: it deals cases to worker processes, kills some of them and replaces those that died."""

import signal
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING

from .log import Log
from .worker import ReplayError, Report, Tally, work

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

    from .worker import Channel

# Rows dealt to a worker before it has finished those that it has, so that it is never without work.
AHEAD = 64

# How long the coordinator does without any report, in seconds.
SILENCE = 120.0


@dataclass(frozen=True)
class Kill:
    """A worker that was killed: what it had handled by its last report, what it had not, and who took over."""

    worker: int
    pid: int
    handled: int
    left: int
    successor: int


@dataclass
class _Worker:
    """The coordinator's side of a worker: the cases dealt to it and not finished, with the rows handled of each."""

    number: int
    process: "SpawnProcess"
    channel: "Channel"
    desk: dict[str, int] = field(default_factory=dict)
    handled: int = 0
    ready: bool = False
    killed: bool = False


@dataclass
class Replayed:
    """A replay that has come to its end, which took `seconds` from when all workers were ready."""

    seconds: float
    tally: Tally
    kills: list[Kill]


class Replay:
    """A replay of a log through the store in a database, to be run once; the store has to be there.

    workers: how many processes.
    kill_at: at these shares of the events (0 to 1) a worker is killed in the middle of its work.
    crash_at: at these shares the callback is called, which may do to the server what it likes but for losing commits.
    contested: one case in so many is dealt to two workers at once (0: none).
    progressed, killed: told how many events are done, and of each kill once its successor is at work.
    """

    def __init__(
        self,
        log: Log,
        dsn: str,
        *,
        schema: str | None = None,
        workers: int = 3,
        kill_at: Iterable[float] = (),
        crash_at: Iterable[tuple[float, Callable[[], None]]] = (),
        contested: int = 5,
        progressed: Callable[[int], None] = lambda events: None,
        killed: Callable[[Kill], None] = lambda kill: None,
    ) -> None:
        if workers < 1:
            raise ValueError("a replay needs a worker")
        self._log = log
        self._dsn = dsn
        self._schema = schema
        self._size = workers
        self._contested = contested
        self._progressed = progressed
        self._killed = killed
        disturbances: list[tuple[float, Callable[[], None] | None]] = [(share, None) for share in kill_at]
        self._plan = deque(sorted([*disturbances, *crash_at], key=lambda planned: planned[0]))
        self._queue = deque(enumerate(log.cases))
        self._workers: list[_Worker] = []
        self._done: dict[str, int] = dict.fromkeys(log.cases, 0)
        self._events_done = 0
        self._in_vain = 0
        self._result = Replayed(0.0, Tally(), [])

    def run(self) -> Replayed:
        """Replays the log; no process is left at the end, however it ends. Raises ReplayError."""
        events = self._log.events
        # Started now, because its start would unblock the signal that _start() blocks.
        resource_tracker.ensure_running()
        try:
            for number in range(1, self._size + 1):
                self._workers.append(self._start(number))
            # A worker that starts later than its rival would find all of their common cases done.
            while not all(worker.ready for worker in self._workers):
                self._hear()
            started = time.monotonic()
            while self._queue or any(worker.desk for worker in self._workers):
                self._deal()
                self._hear()
                while self._plan and self._events_done >= self._plan[0][0] * events:
                    action = self._plan[0][1]
                    if action is None and not self._kill_one():
                        break
                    self._plan.popleft()
                    if action is not None:
                        action()
            self._result.seconds = time.monotonic() - started
            for worker in self._workers:
                _send(worker, None)
            for worker in self._workers:
                worker.process.join(10)
        finally:
            for worker in self._workers:
                worker.process.kill()
                worker.process.join()
                worker.channel.close()
        return self._result

    def _start(self, number: int) -> _Worker:
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(
            target=work,
            args=(theirs, self._dsn, self._schema, self._log.definition_id, dict(self._log.waits)),
            name=f"worker {number}",
            daemon=True,
        )
        # Ctrl-C goes to every process of the terminal, and is for the coordinator alone to act on.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        # As long as this end were open here, the death of the worker would not show.
        theirs.close()
        return _Worker(number, process, ours)

    def _deal(self) -> None:
        """Gives each worker as many rows as it needs to stay at work."""
        able = [worker for worker in self._workers if not worker.killed]
        for worker in able:
            while self._queue and self._left(worker) < AHEAD:
                number, case_id = self._queue.popleft()
                self._give(worker, case_id)
                others = [other for other in able if other is not worker]
                if others and self._contested and number % self._contested == 0:
                    self._give(min(others, key=self._left), case_id)

    def _give(self, worker: _Worker, case_id: str) -> None:
        worker.desk[case_id] = 0
        _send(worker, (case_id, self._log.cases[case_id]))

    def _left(self, worker: _Worker) -> int:
        return sum(len(self._log.cases[case_id]) - handled for case_id, handled in worker.desk.items())

    def _hear(self) -> None:
        """Waits for word from any worker: a report, a failure, or the end of its pipe."""
        workers = {worker.channel: worker for worker in self._workers}
        ready = wait(list(workers), SILENCE)
        if not ready:
            raise ReplayError(f"no worker has reported for {SILENCE:.0f} s")
        for worker in (workers[channel] for channel in ready if isinstance(channel, Connection)):
            try:
                message = worker.channel.recv()
            except (EOFError, OSError):
                self._replace(worker)
                continue
            if isinstance(message, str):
                raise ReplayError(f"worker {worker.number} has failed: {message}")
            self._account(worker, message)

    def _account(self, worker: _Worker, report: Report) -> None:
        worker.ready = True
        if report.handled:
            self._in_vain = 0
        self._result.tally.add(report.tally)
        before = self._events_done
        for case_id, handled in report.handled.items():
            worker.handled += handled - worker.desk[case_id]
            worker.desk[case_id] = handled
            if handled == len(self._log.cases[case_id]):
                del worker.desk[case_id]
            self._events_done += max(0, handled - self._done[case_id])
            self._done[case_id] = max(handled, self._done[case_id])
        if self._events_done > before:
            self._progressed(self._events_done)

    def _kill_one(self) -> bool:
        """Kills the worker with the most on its desk, if one is in the middle of its work."""
        able = [worker for worker in self._workers if not worker.killed and worker.handled and len(worker.desk) > 1]
        if not able:
            return False
        worker = max(able, key=self._left)
        worker.process.kill()
        worker.killed = True
        return True

    def _replace(self, worker: _Worker) -> None:
        """Puts a new worker in the place of one whose pipe has ended, and deals it the same cases."""
        worker.process.join()
        worker.channel.close()
        code = worker.process.exitcode
        self._in_vain += 1
        if code is None or code >= 0 or self._in_vain > 3 * self._size:
            raise ReplayError(f"worker {worker.number} has ended with exit code {code} and no word")
        successor = self._start(worker.number)
        self._workers[self._workers.index(worker)] = successor
        for case_id in worker.desk:
            self._give(successor, case_id)
        if not worker.killed:
            return
        if not worker.desk:
            # It was done before the signal came, which is no disturbance.
            self._plan.appendleft((0.0, None))
            return
        pids = worker.process.pid or 0, successor.process.pid or 0
        kill = Kill(worker.number, pids[0], worker.handled, self._left(worker), pids[1])
        self._result.kills.append(kill)
        self._killed(kill)


def _send(worker: _Worker, message: object) -> None:
    # Where the worker is gone the end of its pipe tells, and its successor gets all that was on its desk.
    with suppress(OSError):
        worker.channel.send(message)
