"""The tutorial, command by command, as a reader types it: what it shows must be what the page says."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pages import Page, commands

DEADLINE = 120.0

# What is different each time, and what tables make of it.
VARYING = (
    (r"host=[^\s']+", "host=FOLDER"),
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]\d{3}", "TIME"),
    (r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b[0-9a-f]{32}\b", "ID"),
    (r"[\w.-]+:\d+:[0-9a-f]{8}\b", "WORKER"),
    (r"\b[\d.]+ (ms|s|min|h)\b", "DURATION"),
    (r"─+", "───"),
    (r" +", " "),
    (r" $", ""),
)


def alike(text: str) -> str:
    """A text without what differs from run to run."""
    for pattern, word in VARYING:
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    return text.strip()


# Long enough for a busy machine to look while the bank is busy, the lease lasts and the timer is not due.
SLOWER = {" / 10)": " / 6)", "--visibility 3": "--visibility 10", '"pay_within": 8': '"pay_within": 20'}


def slower(text: str) -> str:
    for quick, slow in SLOWER.items():
        text = text.replace(quick, slow)
    return text


class Reader:
    """Somebody in a folder with three terminals, of whom one has a server and one a worker."""

    def __init__(self, folder: Path, closing: ExitStack) -> None:
        self._folder = folder
        self._closing = closing
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path, "PYTHONWARNINGS": "", "PYTHONUNBUFFERED": "1"}
        self._worker: subprocess.Popen[bytes] | None = None

    def write(self, name: str, text: str) -> None:
        (self._folder / name).write_text(text)

    def type(self, block: str) -> None:
        """Types the commands of a block, one after the other."""
        for command, shown in commands(block):
            self._do(slower(command), shown)

    def _do(self, command: str, shown: str) -> None:
        """Does one, and looks at what it shows, as often as it takes: workers need their time."""
        if command == "harel up":
            self._start(command, shown)
            dsn = (self._folder / "log").read_text().split("\n")[0]
            self._environment["HAREL_DSN"] = dsn
        elif command.startswith("harel worker"):
            self._end_worker(signal.SIGINT)
            self._worker = self._start(command, shown)
        elif command.startswith("kill -9"):
            self._end_worker(signal.SIGKILL)
        elif not command.startswith("export"):
            looks = re.match(r"harel (show|trace|ls|timers|dead|doctor)", command)
            deadline = time.monotonic() + (DEADLINE if looks else 0)
            while alike(output := self._run(command)) != alike(shown) and time.monotonic() < deadline:
                pass
            assert alike(output) == alike(shown), command

    def _end_worker(self, number: signal.Signals) -> None:
        if self._worker is not None and self._worker.poll() is None:
            self._worker.send_signal(number)
            self._worker.wait(DEADLINE)

    def _run(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command], cwd=self._folder, env=self._environment, capture_output=True, text=True
        )
        return done.stdout + done.stderr

    def _start(self, command: str, shown: str) -> "subprocess.Popen[bytes]":
        """Starts what goes on until it is ended, and waits until it has shown what the page says."""
        log = self._folder / "log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                command.split(), cwd=self._folder, env=self._environment, stdout=file, stderr=file
            )
        self._closing.callback(process.wait)
        self._closing.callback(process.terminate)
        deadline = time.monotonic() + DEADLINE
        while alike(log.read_text()) != alike(shown) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert alike(log.read_text()) == alike(shown), command
        return process


@pytest.fixture
def reader() -> Iterator[Reader]:
    with tempfile.TemporaryDirectory(prefix="harel-") as folder, ExitStack() as closing:
        # The server runs as another user where we are root.
        os.chmod(folder, 0o755)
        yield Reader(Path(folder), closing)


@pytest.mark.page("docs/tutorial/order.md", "console", "python")
def test_the_tutorial_shows_what_its_page_says(page: Page, reader: Reader) -> None:
    machine, mended = map(slower, page.blocks("python"))
    *blocks, restart, redrive = page.blocks("console")
    reader.write("orders.py", machine)
    for block in blocks:
        reader.type(block)
    reader.write("orders.py", re.sub(r".*# the bank takes its time\n", lambda _: mended, machine))
    reader.type(restart)
    reader.type(redrive)
