"""The command line: `harel worker`."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from typer.testing import CliRunner

from harel import Event, Execution, PostgresStore, PostgresTransport
from harel.cli import app

MACHINES = """
from harel import Step

def count(exe, event):
    exe.context["seen"] = [*exe.context.get("seen", []), event.kind]
    print(event.kind, flush=True)
    if event.kind == "bad":
        raise ValueError("a bad event")
    return Step(exe)

machines = {"counted": count}

class Held:
    machines = machines

nothing = {}
numbers = {"counted": 1}
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in, with a package of machines."""
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "counting.py").write_text(MACHINES)
    (folder / "broken.py").write_text("raise RuntimeError('it is\\nbroken')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in "HAREL_DSN", "FORCE_COLOR":
        monkeypatch.delenv(name, raising=False)
    yield folder
    for name in [name for name in sys.modules if name.split(".")[0] == "package"]:
        del sys.modules[name]


def start(*arguments: str, **settings: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "harel", "worker", *arguments],
        env={**os.environ, **settings},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(*arguments: str, **settings: str) -> tuple[int, str]:
    with start(*arguments, **settings) as process:
        _, errors = process.communicate(timeout=60)
    return process.returncode, errors


@pytest.mark.parametrize("how", ["--dsn", "HAREL_DSN", "PG*"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_handles_events_until_it_is_told_to_stop(store_dsn: str, how: str, number: signal.Signals) -> None:
    dsn, settings, arguments = f"{store_dsn} password=secret-word", {}, ["package.counting:Held.machines"]
    if how == "--dsn":
        arguments += ["--dsn", dsn]
    elif how == "HAREL_DSN":
        settings[how] = dsn
    else:
        names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE"}
        settings = {names[key]: str(value) for key, value in conninfo_to_dict(dsn).items()}
    store, transport = PostgresStore.from_dsn(store_dsn), PostgresTransport.from_dsn(store_dsn)
    store.save(Execution(id="one", definition_id="counted"))
    transport.publish_many([("one", Event(kind=kind)) for kind in ("first", "second")])
    with start(*arguments, "--concurrency=3", "--batch=2", "--visibility=5", "--no-listen", **settings) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["first\n", "second\n"]
        # What has begun is finished.
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "runs counted" in errors
    assert "'finished': 2" in errors
    assert "secret-word" not in errors
    exe = store.load("one")
    assert exe is not None
    assert (exe.context, exe.version) == ({"seen": ["first", "second"]}, 3)
    store.close()
    transport.close()


@pytest.mark.parametrize(
    ("policy", "status", "dead"), [("fail", "FAILED", []), ("retry", "PENDING", [(1, "ValueError: a bad event")])]
)
def test_what_becomes_of_an_event_that_raises_can_be_chosen(
    store_dsn: str, policy: str, status: str, dead: list[Any]
) -> None:
    store, transport = PostgresStore.from_dsn(store_dsn), PostgresTransport.from_dsn(store_dsn)
    for name in "one", "two":
        store.save(Execution(id=name, definition_id="counted"))
    transport.publish("one", Event(kind="bad"))
    arguments = f"--on-error={policy}", "--max-attempts=1", "--concurrency=1"
    with start("package.counting:machines", *arguments, HAREL_DSN=store_dsn) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "bad\n"
        # One at a time: the first is settled when the second is handled.
        transport.publish("two", Event(kind="good"))
        assert process.stdout.readline() == "good\n"
        process.terminate()
        process.communicate(timeout=60)
    exe = store.load("one")
    assert exe is not None
    assert (process.returncode, exe.status) == (0, status)
    assert [(letter.attempts, letter.reason) for letter in transport.dead_letters()] == dead
    store.close()
    transport.close()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["package.counting"], "package.counting: name a module and what it holds, as in package.module:machines"),
        (
            ["package.absent:machines"],
            "package.absent:machines: package.absent cannot be imported: ModuleNotFoundError",
        ),
        (["package.broken:machines"], "package.broken cannot be imported: RuntimeError: it is broken"),
        (["package.counting:absent"], "package.counting:absent: package.counting has no absent"),
        (["package.counting:count"], "package.counting:count is no mapping of definition ids to machines"),
        (["package.counting:nothing"], "package.counting:nothing is no mapping"),
        (["package.counting:numbers"], "package.counting:numbers is no mapping"),
        (["package.counting:machines", "--visibility=0"], "visibility and poll more than 0 seconds"),
        (["package.counting:machines", "--dsn=postgres://me:secret-word%zz@host"], "the DSN is no connection string"),
        (["package.counting:machines", "--dsn=secret-word"], "the DSN is no connection string"),
    ],
)
def test_what_cannot_be_run_is_told_in_one_line(arguments: list[str], says: str) -> None:
    done = CliRunner().invoke(app, ["worker", *arguments])
    assert done.exit_code == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert "secret-word" not in done.output


def test_a_target_can_be_seen_from_the_current_folder_by_a_process_of_its_own() -> None:
    assert ended("package.counting:absent") == (2, "package.counting:absent: package.counting has no absent\n")


@pytest.mark.parametrize(
    ("change", "says"),
    [("dbname=no_such_database", 'database "no_such_database" does not exist'), ("host=/nowhere", "No such file")],
)
def test_a_database_that_cannot_be_reached_is_told(store_dsn: str, change: str, says: str) -> None:
    dsn = f"{store_dsn} {change} password=secret-word"
    code, errors = ended("package.counting:machines", HAREL_DSN=dsn)
    assert code == 1
    assert says in errors.splitlines()[-1]
    assert "Traceback" not in errors
    assert "secret-word" not in errors


def test_a_store_in_another_schema_is_found(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        PostgresStore(connection, schema="elsewhere").save(Execution(id="one", definition_id="counted"))
        PostgresTransport(connection, schema="elsewhere").publish("one", Event(kind="first"))
    with start("package.counting:machines", "--schema=elsewhere", HAREL_DSN=dsn) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "first\n"
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 0
