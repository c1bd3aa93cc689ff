"""Runs the tests on every version of PostgreSQL, on an upgraded store, over a cluster, and the client's on each Python.

`--smoke` leaves the newest server to `make test`, and takes on the others the part that depends most on the version.
"""

import argparse
import filecmp
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from servers import RELEASES, ROOT, server

PYTHONS = [(3, 11), (3, 12), (3, 13), (3, 14)]
# Without the asynchronous client, which says the same to the server as the other.
SMOKE = [
    "tests/sql",
    "tests/operations/test_dump.py",
    *(f"tests/python/test_{name}.py" for name in ("store", "transport", "install", "races")),
    *("-k", "not async"),
]
CLIENT = [f"tests/python/test_{name}.py" for name in ("store", "transport", "worker")]
# The same tests with another fixture.
CLUSTER = [
    "tests/sql",
    "tests/histories",
    *(f"tests/faults/test_{name}.py" for name in ("cancellation", "lost_answers")),
    *CLIENT,
    *(f"tests/python/test_{name}.py" for name in ("transactions", "races", "queue_races", "control_races", "replay")),
    *(f"tests/python/test_{name}.py" for name in ("contract_kit", "health", "statemachine", "cli_store")),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("arguments", nargs="*", help="further arguments of pytest")
    options = parser.parse_args()
    report: list[str] = []
    failed = False
    for name, done, seconds in _runs(options.smoke, options.arguments):
        report.append(f"{name:<16}{done:<23}{seconds:6.0f} s")
        failed |= done == "FAILED"
        print(report[-1], flush=True)
    print("", *report, sep="\n")
    sys.exit(failed)


def _runs(smoke: bool, arguments: list[str]) -> Iterator[tuple[str, str, float]]:
    """What was run, how it ended and the seconds that it took."""
    newest = max(RELEASES)
    for version in sorted(RELEASES):
        if not smoke or version != newest:
            environment = {"HAREL_PG_BIN": str(server(version))}
            yield _run(f"PostgreSQL {version}", sys.executable, environment, [*(SMOKE if smoke else ()), *arguments])
    upgraded = {"HAREL_TEST_UPGRADED": "1.0", "HAREL_PG_BIN": str(server(newest))}
    yield _run("from 1.0 to 1.1", sys.executable, upgraded, ["tests/sql", *arguments])
    programs, missing = _citus()
    if missing:
        yield "Citus", missing, 0.0
    else:
        tests = ["tests/sql", *CLIENT, "-k", "not async"] if smoke else CLUSTER
        distributed = {"HAREL_TEST_DISTRIBUTED": "4", "HAREL_PG_BIN": programs}
        yield _run("Citus", sys.executable, distributed, [*tests, *arguments])
    for version in PYTHONS:
        name = "Python {}.{}".format(*version)
        if version == sys.version_info[:2]:
            yield name, "is this one", 0.0
        elif (python := _find(version)) is None:
            yield name, "NOT FOUND", 0.0
        else:
            yield _run(name, _environment(version, python), {}, [*CLIENT, *arguments])


def _run(name: str, python: str | Path, environment: dict[str, str], arguments: list[str]) -> tuple[str, str, float]:
    print(f"\n{name}", flush=True)
    started = time.monotonic()
    # A server that is given would be taken for all of them.
    inherited = {name: value for name, value in os.environ.items() if name not in ("HAREL_TEST_DSN", "HAREL_PG_BIN")}
    command = [python, "-m", "pytest", "-n", "auto", "-q", *arguments]
    done = subprocess.run(command, cwd=ROOT, env={**inherited, **environment})
    return name, "FAILED" if done.returncode else "passed", time.monotonic() - started


def _citus() -> tuple[str, str]:
    """The programs of the server that is named, or is installed here, and what it lacks to be a node of a cluster."""
    with suppress(OSError, subprocess.CalledProcessError):
        named = os.environ.get("HAREL_PG_BIN")
        config = Path(named) / "pg_config" if named else "pg_config"
        command = [config, "--bindir", "--sharedir"]
        programs, shared = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        offered = Path(shared) / "extension"
        if (offered / "citus.control").exists():
            script = "harel--1.1.sql"
            is_ours = (offered / script).exists() and filecmp.cmp(offered / script, ROOT / "extension" / script, False)
            return programs, "" if is_ours else "make install FIRST"
    return "", "not among the packages"


def _find(version: tuple[int, int]) -> str | None:
    """An interpreter of this version, on the path or among those of pyenv."""
    name = "python{}.{}".format(*version)
    candidates = [shutil.which(name), *sorted(Path("~/.pyenv/versions").expanduser().glob(f"*/bin/{name}"))]
    # One of pyenv's own on the path may name a version that is switched off.
    return next((str(python) for python in candidates if python and _is(python, version)), None)


def _is(python: str | Path, version: tuple[int, int]) -> bool:
    done = subprocess.run([python, "--version"], capture_output=True, text=True)
    return re.match(r"Python {}\.{}\.".format(*version), done.stdout) is not None


def _environment(version: tuple[int, int], python: str) -> Path:
    """The Python of an environment with the client and what its tests need."""
    folder = ROOT / ".venv" / "pythons" / "{}.{}".format(*version)
    made = folder / "made"
    if not made.exists():
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
        install = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, "--editable", ".[test]"], cwd=ROOT, check=True)
        made.touch()
    return folder / "bin/python"


if __name__ == "__main__":
    main()
