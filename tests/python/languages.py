"""The workers of docs/examples as processes: what each needs, how it is made ready, and a server that all can reach."""

import fcntl
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import NamedTuple
from urllib.parse import quote, urlencode

import pytest
from psycopg.conninfo import conninfo_to_dict

from harel.embedded import programs

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
MADE = ROOT / ".venv" / "examples"
JARS = [Path("/usr/share/java") / name for name in ("postgresql.jar", "gson.jar")]
GO = {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": str(MADE / "go" / "cache"), "GOFLAGS": ""}


class Language(NamedTuple):
    """programs: what it is run by. check: a command that succeeds where its libraries are there, too."""

    programs: tuple[str, ...]
    check: list[str]
    packages: str
    ready: Callable[[], list[str]]


def _shell() -> list[str]:
    return [str(EXAMPLES / "shell" / "worker.sh")]


def _node() -> list[str]:
    place = MADE / "node"
    sources = _sources("node")
    with _making("node", sources) as outdated:
        if outdated:
            for file in sources:
                shutil.copyfile(file, place / file.name)
            _run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], place)
    return ["node", str(place / "worker.js")]


def _java() -> list[str]:
    place = MADE / "java"
    with _making("java", _sources("java")) as outdated:
        if outdated:
            _run(["javac", "-cp", _classpath(), "-d", str(place), str(EXAMPLES / "java" / "Worker.java")], ROOT)
    # Compiled once for all tests; the first tier of the compiler is enough for them.
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{place}:{_classpath()}", "Worker"]


def _ruby() -> list[str]:
    return ["ruby", "-w", str(EXAMPLES / "ruby" / "worker.rb")]


def _go() -> list[str]:
    with _making("go", _sources("go")) as outdated:
        if outdated:
            _run(["go", "build", "-o", str(MADE / "go" / "worker"), "."], EXAMPLES / "go", GO)
    return [str(MADE / "go" / "worker")]


def _python() -> list[str]:
    return [sys.executable, "-m", "harel", "worker", "orders:machines"]


def _classpath() -> str:
    return ":".join(map(str, JARS))


def _psql_path() -> str:
    """The PATH, with the programs of the server behind what is there."""
    return f"{os.environ.get('PATH', '')}:{programs()}"


LANGUAGES = {
    "shell": Language(("bash", "jq", "psql", "setsid"), ["jq", "--version"], "postgresql-client jq", _shell),
    "node": Language(("node", "npm"), ["node", "--version"], "nodejs npm", _node),
    "java": Language(
        ("java", "javac"),
        ["ls", *map(str, JARS)],
        "default-jdk-headless libpostgresql-jdbc-java libgoogle-gson-java",
        _java,
    ),
    "ruby": Language(("ruby",), ["ruby", "-e", "require 'pg'"], "ruby ruby-pg", _ruby),
    "go": Language(("go",), ["ls", f"{GO['GOPATH']}/src/github.com/lib/pq"], "golang-go golang-github-lib-pq-dev", _go),
    "python": Language((), [sys.executable, "--version"], "", _python),
}


@cache
def command(name: str) -> list[str]:
    """What starts the worker of a language. Skips the test where the language is missing, and fails it on CI."""
    language = LANGUAGES[name]
    there = all(shutil.which(program, path=_psql_path()) for program in language.programs)
    if not there or subprocess.run(language.check, capture_output=True).returncode != 0:
        complain = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        complain(f"there is no {name} to run the example: apt-get install {language.packages}")
    return language.ready()


def environment(dsn: str | None) -> dict[str, str]:
    """The variables of a worker: those of this process, without the ones that name a database, and with the DSN."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "HAREL_"))}
    return {**kept, "PATH": _psql_path(), **({} if dsn is None else {"HAREL_DSN": dsn})}


def _sources(name: str) -> list[Path]:
    return sorted(file for file in (EXAMPLES / name).iterdir() if file.is_file())


@contextmanager
def _making(name: str, sources: Sequence[Path]) -> Iterator[bool]:
    """Whether it has to be made from its sources. Other processes of the tests may be about to, or run it already."""
    (MADE / name).mkdir(parents=True, exist_ok=True)
    made, wanted = MADE / f"{name}.sources", b"".join(file.read_bytes() for file in sources)
    with (MADE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield not made.exists() or made.read_bytes() != wanted
        made.write_bytes(wanted)


def _run(command: list[str], folder: Path, variables: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(command, cwd=folder, env={**os.environ, **(variables or {})}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


class _Pump(BaseRequestHandler):
    def handle(self) -> None:
        server = socket.socket(socket.AF_UNIX)
        server.connect(self.server.target)  # type: ignore[attr-defined]
        back = Thread(target=_copy, args=(server, self.request), daemon=True)
        back.start()
        _copy(self.request, server)
        back.join()
        server.close()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    # The end of one direction is that of the connection.
    for side in (source, target):
        with suppress(OSError):
            side.shutdown(socket.SHUT_RDWR)


class _Forwarder(ThreadingTCPServer):
    daemon_threads = True
    target: str


@contextmanager
def reachable(dsn: str) -> Iterator[tuple[str, int]]:
    """A host and a port at which the server answers: JDBC knows no Unix sockets."""
    server = conninfo_to_dict(dsn)
    host, port = str(server["host"]), int(server.get("port") or 5432)
    if not host.startswith("/"):
        yield host, port
        return
    with _Forwarder(("127.0.0.1", 0), _Pump) as forwarder:
        forwarder.target = f"{host}/.s.PGSQL.{port}"
        thread = Thread(target=forwarder.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield "127.0.0.1", forwarder.server_address[1]
        finally:
            forwarder.shutdown()
            thread.join()


def uri(language: str, dsn: str, host: str, port: int, application: str) -> str:
    """The DSN as this language writes it."""
    server = conninfo_to_dict(dsn)
    user, password = str(server["user"]), str(server.get("password") or "")
    place = f"{host}:{port}/{server['dbname']}"
    if language == "java":
        options = {"user": user, "password": password, "ApplicationName": application, "sslmode": "disable"}
        return f"jdbc:postgresql://{place}?{urlencode(options)}"
    options = {"application_name": application, "sslmode": "disable"}
    return f"postgresql://{quote(user)}:{quote(password)}@{place}?{urlencode(options)}"
