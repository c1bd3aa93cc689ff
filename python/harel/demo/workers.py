"""Worker processes: each runs a harel.worker.Worker until it is told to stop, or whoever started it is gone."""

import asyncio
import logging
import os
import signal
from collections import Counter
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, TypeAlias

from ..worker import Worker
from .orders import machines

if TYPE_CHECKING:
    Channel: TypeAlias = Connection[Any, Any]

# Seconds: how long a message is leased, so that those of a killed worker come back soon; how often a worker looks at
# timers while it has nothing to do; how often it reports what it has done.
VISIBILITY = 1.0
POLL = 0.1
REPORT_EVERY = 0.1


class WorkerProcess:
    """The driver's side of a worker process.

    tally is what it had done when it last reported; it is ready once it has.
    """

    def __init__(self, number: int, dsn: str, schema: str | None) -> None:
        self.name = f"worker {number}"
        self.tally: Counter[str] = Counter()
        self.ready = False
        context = get_context("spawn")
        self.channel, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(theirs, self.name, dsn, schema), daemon=True)
        # Ctrl-C goes to every process of the terminal, and is for the driver alone to act on.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        # As long as this end were open here, the death of the worker would not show.
        theirs.close()
        self.pid = self._process.pid or 0

    def hear(self) -> bool:
        """Takes a report; False: the process has ended."""
        try:
            self.tally = self.channel.recv()
            self.ready = True
        except (EOFError, OSError):
            return False
        return True

    def freeze(self) -> None:
        """Stops it where it stands, until thaw() or kill()."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Lets it go on."""
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Ends it with SIGKILL, if it has not ended."""
        self._process.kill()
        self._process.join()
        self.channel.close()

    def stop(self) -> int | None:
        """Lets it finish what it has in hand, and returns its exit code; None: it does not come to an end."""
        with suppress(OSError):
            self.channel.send(None)
        while self.hear():
            pass
        self._process.join(10)
        return self._process.exitcode


def work(channel: "Channel", name: str, dsn: str, schema: str | None) -> None:
    """The life of a worker process."""
    # That the server is away is no news to those who watch the demo.
    logging.disable(logging.WARNING)
    asyncio.run(_work(channel, Worker(dsn, machines, schema=schema, worker_id=name, visibility=VISIBILITY, poll=POLL)))


async def _work(channel: "Channel", worker: Worker) -> None:
    async def report() -> None:
        while True:
            with suppress(OSError):
                channel.send(worker.tally)
            await asyncio.sleep(REPORT_EVERY)

    def stop() -> None:
        asyncio.get_running_loop().remove_reader(channel.fileno())
        worker.stop()

    # There is something to read when it is told to stop, or when the other end is closed.
    asyncio.get_running_loop().add_reader(channel.fileno(), stop)
    reporting = asyncio.create_task(report())
    await worker.run()
    reporting.cancel()
    with suppress(OSError):
        channel.send(worker.tally)
