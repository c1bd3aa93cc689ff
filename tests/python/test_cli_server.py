"""The command line that makes a store, and runs a server, a benchmark, the demo or a replay."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

from harel import PostgresStore
from harel.cli import app
from harel.embedded import EmbeddedServer


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "HAREL_DSN", "FORCE_COLOR":
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder that anybody can enter, with a name short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="harel-up-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextmanager
def running(*arguments: str) -> "Iterator[subprocess.Popen[str]]":
    with subprocess.Popen(
        [sys.executable, "-m", "harel", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background or by nohup has them ignore these, and a child inherits that.
        preexec_fn=lambda: [signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGHUP)],
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def schemas(dsn: str) -> set[str]:
    with psycopg.connect(dsn) as session:
        return {name for (name,) in session.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'harel%'")}


def test_init_says_how_it_made_the_store_and_why(dsn: str) -> None:
    def init(*arguments: str) -> Any:
        done = CliRunner().invoke(app, ["init", "--dsn", dsn, "--json", *arguments])
        assert (done.exit_code, done.stderr) == (0, "")
        return json.loads(done.stdout)

    assert init() == {
        "schema": "public",
        "version": "1.1",
        "how": "created as the extension harel 1.1 in schema public",
    }
    assert init() == {"schema": "public", "version": "1.1", "how": "there is a store in schema public"}
    assert init("--schema", "second")["how"] == (
        "created by the script of harel 1.1 in schema second, and not as an extension: "
        "the database has the extension, in another schema"
    )


def test_init_on_a_server_without_the_files_takes_the_script(dsn: str) -> None:
    with psycopg.connect(dsn) as session:
        if session.info.server_version < 180000:
            pytest.skip("only from 18 on can a session be given another folder of extensions")
    done = CliRunner().invoke(app, ["init", "--dsn", f"{dsn} options='-c extension_control_path=$system'"])
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == (
        "created by the script of harel 1.1 in schema public, and not as an extension: "
        "the server does not have the files of the extension\n"
    )


def test_init_without_rights_is_told_in_one_line(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as session:
        session.execute("CREATE ROLE init_stranger LOGIN")
        try:
            done = CliRunner().invoke(app, ["init", "--dsn", f"{dsn} user=init_stranger"])
            assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
            assert "permission denied" in done.stderr
            assert "To create a store takes CREATE on the database" in done.stderr
        finally:
            session.execute("DROP ROLE init_stranger")


def test_init_upgrades_when_it_is_told_to(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as session:
        session.execute("CREATE EXTENSION harel VERSION '1.0'")
    done = CliRunner().invoke(app, ["init", "--dsn", dsn])
    assert done.exit_code == 3
    assert "the store is of version 1.0, this program of 1.1: harel init --upgrade" in done.stderr
    old = CliRunner().invoke(app, ["flow", "d", "--dsn", dsn])
    assert (old.exit_code, old.stderr.count("\n")) == (1, 1)
    assert "harel init --upgrade" in old.stderr
    done = CliRunner().invoke(app, ["init", "--dsn", dsn, "--upgrade", "--json"])
    assert (done.exit_code, json.loads(done.stdout)["version"]) == (0, "1.1")


def test_up_runs_a_server_that_keeps_its_data(short_folder: Path) -> None:
    for number in range(2):
        with running("up", "--folder", str(short_folder / "pg")) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            dsn = process.stdout.readline().strip()
            assert f"export HAREL_DSN='{dsn}'" in process.stderr.readline()
            with psycopg.connect(dsn, autocommit=True) as session:
                store = PostgresStore(session, create_schema=False)
                assert len(store.list_executions().items) == number
                session.execute("SELECT harel_commit_cas(%s, 'd', '{}', 0)", (str(number),))
            process.send_signal([signal.SIGINT, signal.SIGTERM][number])
            process.communicate(timeout=60)
        assert process.returncode == 0
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(dsn)


def test_a_folder_of_an_older_version_gets_the_extension_of_this_one(short_folder: Path) -> None:
    folder = short_folder / "pg"
    with EmbeddedServer(folder) as server, psycopg.connect(server.dsn, autocommit=True) as session:
        if session.info.server_version < 180000:
            pytest.skip("older servers look for extensions in their own folder only")
        session.execute("CREATE EXTENSION harel VERSION '1.0'")
    (folder / "share" / "extension" / "harel--1.0--1.1.sql").unlink()
    with EmbeddedServer(folder) as server, psycopg.connect(server.dsn, autocommit=True) as session:
        session.execute("ALTER EXTENSION harel UPDATE TO '1.1'")


def test_a_second_up_in_a_folder_says_that_there_is_one(short_folder: Path) -> None:
    with running("up", "--folder", str(short_folder / "pg"), "--json") as process:
        assert process.stdout is not None
        dsn = json.loads(process.stdout.readline())["dsn"]
        done = CliRunner().invoke(app, ["up", "--folder", str(short_folder / "pg")])
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr == f"a server runs in {short_folder / 'pg'} already: {dsn}\n"
        psycopg.connect(dsn).close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's server is run by another user")
def test_up_says_where_its_server_cannot_go(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    done = CliRunner().invoke(app, ["up", "--folder", str(tmp_path / "pg")])
    assert (done.exit_code, done.stdout) == (1, "")
    assert "who cannot enter" in done.stderr
    assert done.stderr.count("\n") == 1


def up(folder: Path) -> str:
    """What `harel up` says where it cannot run."""
    done = CliRunner().invoke(app, ["up", "--folder", str(folder)])
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    return done.stderr


def test_up_takes_no_folder_that_has_other_files_in_it(short_folder: Path) -> None:
    (short_folder / "orders.py").touch()
    owner = short_folder.stat().st_uid
    assert up(short_folder) == f"there are other files in {short_folder}: name a folder of its own\n"
    assert short_folder.stat().st_uid == owner


def test_up_says_why_there_can_be_no_folder(short_folder: Path) -> None:
    (short_folder / "file").touch()
    assert "Not a directory" in up(short_folder / "file" / "pg")
    assert "name another folder" in up(short_folder / '$(touch "x")')
    assert "name another folder" in up(short_folder / "a,b")


def test_up_says_of_which_version_the_data_is(short_folder: Path) -> None:
    (short_folder / "pg" / "data").mkdir(parents=True)
    (short_folder / "pg" / "data" / "PG_VERSION").write_text("9.6\n")
    said = up(short_folder / "pg")
    assert said.startswith(f"the data in {short_folder / 'pg'} is of PostgreSQL 9.6 and the programs are of ")
    assert "HAREL_PG_BIN" in said


def test_bench_measures_and_leaves_the_database_as_it_was(dsn: str) -> None:
    before = schemas(dsn)
    done = CliRunner().invoke(app, ["bench", "--seconds", "0.1", "--json", "--dsn", dsn])
    assert (done.exit_code, done.stderr) == (0, "")
    results = json.loads(done.stdout)
    assert [result["events"] for result in results] == [1, 1, 1, 1, 1, 50]
    assert all(0 < result["median"] <= result["p99"] and result["per_second"] > 0 for result in results)
    assert results[0]["trips"] == 1
    assert schemas(dsn) == before


def test_the_demo_and_a_replay_tell_their_proof_as_json(dsn: str, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    rows = [
        f"c{case},{step},complete,2026-01-0{number + 1}T00:00:00,r"
        for case in range(3)
        for number, step in enumerate("ab")
    ]
    log.write_text("\n".join(["case_id,activity,lifecycle,timestamp,resource", *rows]) + "\n")
    for command in ["demo", "--orders", "3"], ["replay", str(log), "--workers", "1", "--kills", "0"]:
        done = subprocess.run(
            [sys.executable, "-m", "harel", *command, "--dsn", dsn, "--json"], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        assert result["holds"] is True
        assert all(check["holds"] and check["compared"] >= 0 for check in result["checks"])
        assert "Proof, a query each" in done.stderr
    assert schemas(dsn) == set()


@pytest.mark.parametrize("command", [["demo"], ["bench"]])
def test_a_dsn_that_cannot_be_read_is_not_shown(command: list[str]) -> None:
    done = CliRunner().invoke(app, [*command, "--dsn", "postgres//me:secret-word@host/app"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "the DSN is no connection string or URI that libpq understands\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_bench_that_is_ended_leaves_no_schema_behind(dsn: str, number: signal.Signals) -> None:
    before = schemas(dsn)
    with running("bench", "--seconds", "60", "--dsn", dsn) as process:
        wait_for(lambda: schemas(dsn) != before)
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert schemas(dsn) == before


INTERRUPTED_DESTRUCTOR = """
import os, sys, time
from harel.cli.common import workplace

class Temporary:
    def __del__(self):
        os.kill(os.getpid(), int(sys.argv[2]))

with workplace(sys.argv[1], "test"):
    Temporary()
    while True:
        time.sleep(1)
"""


@pytest.mark.parametrize(("number", "ends"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 128 + signal.SIGTERM)])
def test_a_command_ends_where_the_signal_interrupts_a_destructor(dsn: str, number: signal.Signals, ends: int) -> None:
    before = schemas(dsn)
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_DESTRUCTOR, dsn, str(int(number))],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert done.returncode == ends, done.stderr
    assert schemas(dsn) == before


def test_a_closed_terminal_ends_the_server(short_folder: Path) -> None:
    with running("up", "--folder", str(short_folder / "pg")) as process:
        assert process.stdout is not None
        dsn = process.stdout.readline().strip()
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=60)
    assert process.returncode == 0
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(dsn)


def test_a_host_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "2")
    with socket.create_server(("127.0.0.1", 0)) as mute:
        done = CliRunner().invoke(app, ["bench", "--dsn", f"host=127.0.0.1 port={mute.getsockname()[1]} user=me"])
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("connection timeout expired")
    assert done.stderr.count("\n") == 1


def test_ctrl_c_while_a_server_starts_leaves_none_behind(short_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Its programs are where the server's user can run them.
    with EmbeddedServer(short_folder / "first") as first:
        programs = short_folder / "bin"
        programs.mkdir()
        for program in first.bin.iterdir():
            (programs / program.name).symlink_to(program)
    pg_ctl = programs / "pg_ctl"
    pg_ctl.unlink()
    pg_ctl.write_text(f'#!/bin/sh\n{first.bin}/pg_ctl "$@" || exit\n[ "$1" != start ] || sleep 2\n')
    pg_ctl.chmod(0o755)
    monkeypatch.setenv("HAREL_PG_BIN", str(programs))
    folder = short_folder / "pg"
    with running("up", "--folder", str(folder)) as process:
        wait_for((folder / ".s.PGSQL.5432").exists)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert not (folder / "data" / "postmaster.pid").exists()


def test_ctrl_c_again_and_again_leaves_no_server_behind(short_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(short_folder))
    with running("bench", "--seconds", "60") as process:
        wait_for(lambda: any(short_folder.glob("harel-*/.s.PGSQL.5432")))
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)
    assert list(short_folder.glob("harel-*")) == []
