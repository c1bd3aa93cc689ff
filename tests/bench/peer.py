"""Peers: each in a virtual environment of its own below .venv/peers, driven as a process that answers in JSON lines."""

import fcntl
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from .peers.serve import per_second

ROOT = Path(__file__).parents[2]
PEERS = Path(__file__).with_name("peers")


class EnvironmentFailed(RuntimeError):
    """The environment cannot be made; the message is pip's."""


def environment(name: str, requirements: list[str]) -> Path:
    """The interpreter of a virtual environment with these requirements, made where it is missing or has others."""
    place = ROOT / ".venv" / "peers" / name
    python, made = place / "bin" / "python", place / "made"
    place.parent.mkdir(parents=True, exist_ok=True)
    # Several processes may ask at once. The lock is beside it, because making it clears the folder.
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (python.exists() and made.exists() and made.read_text() == "\n".join(requirements)):
            subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
            install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
            done = subprocess.run(install, capture_output=True, text=True)
            if done.returncode != 0:
                raise EnvironmentFailed(done.stderr)
            made.write_text("\n".join(requirements))
    return python


class Driven:
    """A process that answers requests. It is asked for an operation, and answers when that is done."""

    def __init__(self, name: str, command: Sequence[str | Path]) -> None:
        self._name = name
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        try:
            self.offers = list(self._answer()["offers"])
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    def ask(self, operation: str, **parameters: Any) -> dict[str, Any]:
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"do": operation, **parameters}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def block(self, operation: str, **parameters: Any) -> Callable[[], float] | None:
        """A block of that operation, whose figure is what was done in a second; None where it is not offered."""
        if operation not in self.offers:
            return None

        return lambda: per_second(self.ask(operation, **parameters))

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._name} ended with {self._process.wait()}; see what it printed above")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _end(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Peer(Driven):
    """A driver of peers/, at work on a database; what it needs stands in the file named like its first word."""

    def __init__(self, name: str, dsn: str, *arguments: str) -> None:
        package = name.split("_")[0]
        python = environment(package, (PEERS / f"{package}.txt").read_text().split())
        # Without the variables of our own Python, which may lead to another package of the same name.
        super().__init__(name, [python, "-E", PEERS / f"{name}.py", dsn, *arguments])


class Own(Driven):
    """Our own side, in a process of its own."""

    def __init__(self, dsn: str) -> None:
        super().__init__("our own side", [sys.executable, "-m", f"{__package__}.own", dsn])
