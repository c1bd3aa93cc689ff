"""The command line on a store: what it shows, what it changes, and what it says when it cannot."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner, Result

from harel import Event, Execution, PostgresStore, PostgresTransport, Status, TimerOp
from harel.cli import app

LONG_AGO = 1_000_000.0


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "HAREL_DSN", "FORCE_COLOR":
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def session(store_dsn: str) -> Iterator["psycopg.Connection[Any]"]:
    with psycopg.connect(store_dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture
def filled(session: "psycopg.Connection[Any]", store_dsn: str) -> str:
    """A store with an order in payment, its child, an order that is done, and one of another definition."""
    store, queue = PostgresStore(session), PostgresTransport(session)
    order = Execution(id="order-1", definition_id="order", context={"amount": 12.5})
    store.save(order)
    order.status, order.active_path = Status.RUNNING, "/open/paying"
    store.commit(
        order,
        [(None, Event(kind="Opened")), ("order-2", Event(kind="Look"))],
        processed_event_id="place-1",
        timers=[TimerOp("schedule", "/open/paying", LONG_AGO), TimerOp("schedule", "/open", 4e9)],
        trace={"event": "Place", "from": None, "to": "/open/paying", "at": 100.0},
    )
    store.append_trace("order-1", {"event": "Retry", "from": "/open/paying", "to": "/open/paying", "at": 190.0})
    store.save(
        Execution(
            id="order-1/pay", definition_id="order", parent_id="order-1", active_path="/asking", status=Status.RUNNING
        )
    )
    store.save(Execution(id="order-2", definition_id="order", status=Status.DONE, active_path="/done", outcome="paid"))
    store.save(Execution(id="stock", definition_id="warehouse"))
    queue.publish("order-1", Event(id="paid-1", kind="Paid"))
    queue.publish("gone", Event(id="lost-1", kind="Lost"))
    queue.next("worker-1", 30, 10)
    return store_dsn


def run(dsn: str, *arguments: str, input: str | None = None) -> Result:
    return CliRunner().invoke(app, [*arguments, "--dsn", dsn], input=input)


def told(dsn: str, *arguments: str) -> Any:
    """What a command writes as JSON."""
    done = run(dsn, *arguments, "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_ls_lists_by_filters_and_pages(filled: str) -> None:
    first = told(filled, "ls", "-d", "order", "-n", "2")
    assert [(row["id"], row["status"], row["active_path"]) for row in first["items"]] == [
        ("order-1", "RUNNING", "/open/paying"),
        ("order-1/pay", "RUNNING", "/asking"),
    ]
    second = told(filled, "ls", "-d", "order", "-n", "2", "--cursor", first["next_cursor"])
    assert [row["id"] for row in second["items"]] == ["order-2"]
    assert second["next_cursor"] is None
    assert [row["id"] for row in told(filled, "ls", "-s", "running", "-s", "PENDING", "--roots")["items"]] == [
        "order-1",
        "stock",
    ]
    shown = run(filled, "ls", "-n", "1", "--all")
    assert [line.split()[0] for line in shown.stdout.splitlines() if line[:1].isalpha()] == [
        "id", "order-1", "id", "order-1/pay", "id", "order-2", "id", "stock",
    ]  # fmt: skip
    assert "there are more: --cursor " in run(filled, "ls", "-n", "1").stderr
    assert run(filled, "ls", "-s", "FAILED").stderr == "none\n"


def test_show_has_all_of_an_execution(filled: str) -> None:
    found = told(filled, "show", "order-1")
    assert found["execution"]["version"] == 2
    assert found["data"]["context"] == {"amount": 12.5}
    assert [child["id"] for child in found["children"]] == ["order-1/pay"]
    assert [timer["path"] for timer in found["timers"]] == ["/open/paying", "/open"]
    assert [(group["state"], group["worker"]) for group in found["queue"]] == [("leased", "worker-1")]
    assert [(step["event"], step["dwell"]) for step in found["trace"]] == [("Place", None), ("Retry", 90.0)]
    lines = run(filled, "show", "order-1").stdout.splitlines()
    assert lines[0] == "order-1  order  RUNNING  version 2"
    assert lines[3:9] == [
        "order",
        "├── open",
        "│   └── paying  ◂ here",
        "└── order-1/pay  RUNNING",
        "    └── asking  ◂ here",
        "",
    ]
    text = "\n".join(lines)
    assert '"amount": 12.5' in text
    assert "child of order-1" in run(filled, "show", "order-1/pay").stdout


def test_show_has_data_that_is_no_object(session: "psycopg.Connection[Any]", store_dsn: str) -> None:
    for id_, data in ("text", '"just a text"'), ("deep", "[" * 3000 + "]" * 3000), ("nan", "[1e400]"):
        session.execute("SELECT harel_commit_cas(%s, 'd', %s, 0)", (id_, data))
        assert run(store_dsn, "show", id_).exit_code == 0
    assert told(store_dsn, "show", "text")["data"] == "just a text"


def test_a_terminal_is_not_moved_by_what_is_in_the_store(session: "psycopg.Connection[Any]", store_dsn: str) -> None:
    evil = "\x1b[2J\x9b31m\r\n\u202e[bold]"
    data = json.dumps(
        {"active_path": f"/{evil}", "status": evil, "outcome": evil, "context": {"x": evil}, "error": evil}
    )
    session.execute("SELECT harel_commit(%s, %s, %s, 0, p_trace => %s)", (evil, evil, data, evil))
    session.execute(
        "SELECT harel_commit(%s, %s, %s, 1, p_trace => %s)", (evil, evil, data, json.dumps({"event": evil}))
    )
    session.execute("SELECT harel_publish(%s, %s)", (evil, evil))
    session.execute("SELECT harel_commit('c', 'd', %s, 0)", (json.dumps({"parent_id": evil, "active_path": evil}),))
    for command in (
        ["ls"], ["show", evil], ["trace", evil], ["flow", evil], ["flow", evil, "--mermaid"], ["top", "-n", "1"],
        ["doctor"], ["dead"], ["show", f"no{evil}"],
    ):  # fmt: skip
        done = run(store_dsn, *command)
        assert not set(done.output) & set("\x1b\x9b\r\u202e"), command
        assert done.exit_code in (0, 3), done.output


def test_trace_tells_how_long_states_lasted(filled: str, tmp_path: Path) -> None:
    assert [(row["idx"], row["event"], row["dwell"]) for row in told(filled, "trace", "order-1")] == [
        (0, "Place", None),
        (1, "Retry", 90.0),
    ]
    assert "1.5 min" in run(filled, "trace", "order-1", "-n", "1").stdout
    assert run(filled, "trace", "stock").stderr == "none\n"
    picture = tmp_path / "trace.svg"
    assert run(filled, "trace", "order-1", "--svg", str(picture)).exit_code == 0
    assert ">1.5 min<" in picture.read_text()


def test_trace_follows_what_happens(filled: str, session: "psycopg.Connection[Any]") -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "harel", "trace", "order-1", "-n", "1", "--follow", "--json", "--dsn", filled],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["idx"] == 1
        for number in range(2):
            session.execute("SELECT harel_append_trace('order-1', %s)", (json.dumps({"event": f"new-{number}"}),))
            assert json.loads(process.stdout.readline())["event"] == f"new-{number}"
        process.send_signal(2)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")


def test_timers_outbox_and_dead_letters_are_listed(filled: str) -> None:
    assert [(row["execution_id"], row["path"]) for row in told(filled, "timers")] == [
        ("order-1", "/open/paying"),
        ("order-1", "/open"),
    ]
    assert told(filled, "timers", "stock") == []
    assert " for " in run(filled, "timers").stdout
    assert [(row["source_id"], row["target_id"]) for row in told(filled, "outbox")] == [
        ("order-1", None),
        ("order-1", "order-2"),
    ]
    (letter,) = told(filled, "dead")
    assert (letter["group_id"], json.loads(letter["event"])["kind"]) == ("gone", "Lost")
    assert told(filled, "dead", "order-1") == []
    assert "Lost" in run(filled, "dead").stdout


def test_doctor_finds_what_is_wrong(filled: str, store_dsn: str, session: "psycopg.Connection[Any]") -> None:
    done = run(filled, "doctor", "--json")
    assert done.exit_code == 3
    problems = [row["problem"] for row in json.loads(done.stdout)]
    assert "timers are overdue" in problems
    shown = run(filled, "doctor").stdout
    for row in json.loads(done.stdout):
        # Clocks may seem to differ where a machine stood still for a moment.
        assert row["remedy"] in shown or "clocks" in row["problem"]


def test_flow_shows_the_statechart(filled: str, tmp_path: Path) -> None:
    rows = told(filled, "flow", "order")
    assert rows[0] == {
        "kind": "definition", "source": None, "target": None, "event": None, "count": 3, "median": None, "p95": None,
        "waiting": 2, "longest": None, "ended": 1,
    }  # fmt: skip
    assert "1.5 min" in run(filled, "flow", "order").stdout
    for suffix, begin in (".svg", b"<?xml"), (".png", b"\x89PNG"), (".mmd", b"stateDiagram-v2\n"), (".dot", b"digraph"):
        picture = tmp_path / f"flow{suffix}"
        done = run(filled, "flow", "order", "-o", str(picture))
        assert (done.exit_code, done.stdout, done.stderr) == (0, "", f"written to {picture}\n")
        assert picture.read_bytes().startswith(begin)
    assert run(filled, "flow", "order", "--mermaid").stdout.startswith("stateDiagram-v2\n    state ")


def test_top_shows_rates_and_backlog(filled: str) -> None:
    looks = [
        json.loads(line) for line in run(filled, "top", "--json", "-n", "2", "--interval", "0.1").stdout.splitlines()
    ]
    assert len(looks) == 2
    assert looks[0]["stats"]["queued"] == 1
    assert [row["group_id"] for row in looks[0]["slow_steps"]] == ["order-1"]
    assert all(rate >= 0 for look in looks for rate in look["rates"].values())
    assert "steps in progress, longest first" in run(filled, "top", "-n", "1").stdout


def test_top_breaks_no_figures_in_a_narrow_terminal(filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Only a terminal has a width, and this makes it one.
    monkeypatch.setenv("FORCE_COLOR", "1")
    for width, titles in ("40", ["executions"]), ("80", ["executions", "commits a second", "queued"]):
        monkeypatch.setenv("COLUMNS", width)
        shown = re.sub(r"\x1b\[[\d;]*m", "", run(filled, "top", "-n", "1").stdout)
        assert re.search(" +\\d+ *".join(titles) + " +\\d+ *$", shown, re.MULTILINE), shown
        assert "processed events a second" in shown


def test_an_execution_is_made_and_sent_events(session: "psycopg.Connection[Any]", store_dsn: str) -> None:
    assert told(store_dsn, "new", "order", "o-1", "--context", '{"a": 1}') == {"id": "o-1", "definition_id": "order"}
    assert run(store_dsn, "send", "o-1", "Paid", "--data", '{"by": "card"}', "--event-id", "e-1").stdout == "e-1\n"
    sent = PostgresTransport(session).claim("w", 30)
    assert sent is not None
    assert (sent.event.id, sent.event.kind, sent.event.data) == ("e-1", "Paid", {"by": "card"})
    exe = PostgresStore(session).load("o-1")
    assert exe is not None
    assert (exe.definition_id, exe.context, exe.status) == ("order", {"a": 1}, "PENDING")
    random = run(store_dsn, "new", "order").stdout.strip()
    assert run(store_dsn, "show", random).exit_code == 0
    again = run(store_dsn, "new", "order", "o-1")
    assert (again.exit_code, again.stderr) == (3, "there is an execution 'o-1' already\n")


def test_half_a_surrogate_pair_is_sent_as_it_was_given(session: "psycopg.Connection[Any]", store_dsn: str) -> None:
    PostgresStore(session).save(Execution(id="x", definition_id="d"))
    assert run(store_dsn, "send", "x", "Paid", "--data", '{"a": "\\ud800"}').exit_code == 0
    assert session.execute("SELECT event FROM transport_messages").fetchall()[0][0].count("\\ud800") == 1


def test_executions_are_suspended_resumed_and_cancelled(filled: str) -> None:
    assert told(filled, "suspend", "order-1") == {"suspended": 1}
    assert [row["id"] for row in told(filled, "ls", "-s", "SUSPENDED")["items"]] == ["order-1", "order-1/pay"]
    assert run(filled, "resume", "order-1").stdout == "resumed order-1\n"
    assert told(filled, "cancel", "-d", "order", "-s", "running", "--dry-run") == {"cancelled": 0, "matching": 2}
    assert told(filled, "ls", "-s", "CANCELLED")["items"] == []
    assert told(filled, "cancel", "-d", "order", "-s", "running") == {"cancelled": 2, "matching": 2}
    done = run(filled, "resume", "order-1")
    assert (done.exit_code, done.stdout) == (3, "")
    assert done.stderr == "'order-1' cannot be resumed: it is CANCELLED\n"


def test_executions_are_purged(filled: str, session: "psycopg.Connection[Any]") -> None:
    declined = run(filled, "purge", "order-2", input="n\n")
    assert declined.exit_code == 3
    assert declined.stderr.endswith("nothing was done\n")
    nobody_there = run(filled, "purge", "order-2", input="")
    assert nobody_there.exit_code == 3
    assert nobody_there.stderr.endswith("\nnothing was done: --yes does not ask\n")
    assert run(filled, "show", "order-2").exit_code == 0
    assert run(filled, "purge", "order-1/pay", input="y\n").exit_code == 0
    assert told(filled, "purge", "--older-than", "1", "--yes") == {"purged": 0}
    session.execute("UPDATE executions SET finished_at = now() - interval '2 days' WHERE id = 'order-2'")
    # The message that order-1 has emitted for it waits in the outbox.
    session.execute("DELETE FROM outbox")
    assert told(filled, "purge", "--older-than", "1", "--yes") == {"purged": 1}
    assert [row["id"] for row in told(filled, "ls")["items"]] == ["order-1", "stock"]


def test_dead_letters_are_redriven(filled: str) -> None:
    (letter,) = told(filled, "dead")
    assert told(filled, "redrive", "--letter", letter["id"]) == {"redriven": 1}
    assert told(filled, "dead") == []
    assert run(filled, "redrive", "--letter", letter["id"]).exit_code == 3
    assert run(filled, "redrive", "gone").stderr == "there is no dead letter of 'gone'\n"
    assert told(filled, "redrive", "--all") == {"redriven": 0}


def test_an_event_is_sent_as_it_was_written_or_not_at_all(session: Any, store_dsn: str) -> None:
    PostgresStore(session).save(Execution(id="a", definition_id="d"))
    refused = run(store_dsn, "send", "a", "Paid", "--data", '{"amount": 1e999}')
    assert (refused.exit_code, refused.stderr.partition(":")[0]) == (2, "--data is not JSON")
    assert run(store_dsn, "send", "a", "Paid", "--data", r'{"by": "\ud800"}').exit_code == 0
    assert [json.loads(row[0])["data"] for row in session.execute("SELECT event FROM transport_messages")] == [
        {"by": "\ud800"}
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show", "nobody"], "there is no execution 'nobody'"),
        (["trace", "nobody"], "there is no execution 'nobody'"),
        (["send", "nobody", "Paid"], "there is no execution 'nobody'"),
        (["suspend", "nobody"], "there is no execution 'nobody'"),
        (["purge", "nobody", "-y"], "there is no execution 'nobody'"),
        (["flow", "nothing"], "there is no execution of 'nothing'"),
    ],
)
def test_the_answer_no_has_a_code_of_its_own(store_dsn: str, arguments: list[str], says: str) -> None:
    done = run(store_dsn, *arguments)
    assert (done.exit_code, done.stdout, done.stderr) == (3, "", f"{says}\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["send", "a", "Paid", "--data", "{"], "--data is not JSON: "),
        (["send", "a", "Paid", "--data", "[1]"], '--data must be a JSON object, such as {"amount": 12.5}'),
        (["new", "d", "--context", "1"], "--context must be a JSON object"),
        (["new", "d", "--context", '{"a": NaN}'], "--context is not JSON: NaN is no number of JSON"),
        (["send", "x", "Paid", "--data", '{"a": NaN}'], "--data is not JSON: NaN is no number of JSON"),
        (["send", "x", "Paid", "--data", '{"a": 1e999}'], "--data is not JSON: "),
        (["new", "d", ""], "an ID must not be empty: is a variable of the shell not set?"),
        (["new", "", "a"], "the DEFINITION must not be empty"),
        (["send", "x", ""], "the EVENT must not be empty"),
        (["send", "x", "Paid", "--event-id", ""], "an --event-id must not be empty"),
        (["send", "x", "Paid\udcff"], "the EVENT must be text in the encoding of the locale, best UTF-8"),
        (["send", "x", "Paid", "--data", '{"a": "\udcff"}'], "--data must be text in the encoding of the locale"),
        (["suspend"], "suspend what? Name an id, or those of a --definition or --status"),
        (["cancel", "a", "-d", "order"], "cancel what?"),
        (["resume", "a", "--dry-run"], "--dry-run is for a --definition or --status"),
        (["purge", "-y"], "purge what?"),
        (["purge", "a", "-y", "--archive", "f"], "--archive goes with --older-than"),
        (["ls", "--schema", ""], "the schema name '' does not have 1 to 63 bytes"),
        (["init", "--schema", "x" * 64], "the schema name 'xxxx"),
        (["init", "--schema", 'a"b'], "the schema name 'a\"b' has a quote"),
        (["redrive"], "redrive what?"),
        (["redrive", "a", "--all"], "redrive what?"),
        (["redrive", "--letter", "7"], "7 is not the uuid of a letter: harel dead lists them"),
        (["show", "\udcff"], "an argument is no text in the encoding of the locale"),
        (["flow", "d", "-o", "flow.txt"], "flow.txt: the name of a picture ends in one of .svg, .png, .mmd, .dot"),
        (["flow", "d", "-o", "/nowhere/flow.svg"], "/nowhere/flow.svg: No such file or directory"),
    ],
)
def test_what_makes_no_sense_is_told_in_one_line(
    store_dsn: str, session: "psycopg.Connection[Any]", arguments: list[str], says: str
) -> None:
    PostgresStore(session).save(Execution(id="x", definition_id="d"))
    done = run(store_dsn, *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(says)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["ls", "-n", "0"],
        ["ls", "-n", "2147483648"],
        ["trace", "x", "-n", "2147483648"],
        ["flow", "d", "-n", "2147483648"],
        ["top", "--interval", "1e300"],
        ["top", "-n", "99999999999999999999"],
        ["ls", "--nonsense"],
        ["nonsense"],
        ["trace"],
        ["top", "-n", "x"],
    ],
)
def test_what_the_command_line_does_not_know_is_a_bad_use(store_dsn: str, arguments: list[str]) -> None:
    done = run(store_dsn, *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


def test_errors_of_the_store_come_with_detail_and_remedy(store_dsn: str, session: "psycopg.Connection[Any]") -> None:
    done = run(store_dsn, "ls", "--cursor", "nonsense")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        "the cursor is not one of harel_list(). The cursor begins with 'nonsense'. "
        "Pass next_cursor of the page before as it came, or NULL for the first page.\n"
    )
    done = run(store_dsn, "new", "d", "x" * 1001)
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert "the execution id must be a text of 1 to 1000 bytes" in done.stderr


def test_a_database_without_a_store_has_a_remedy(dsn: str) -> None:
    done = run(dsn, "ls")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "there is no harel store in this database, or in this schema: create one with harel init\n"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("host=/nowhere", "No such file or directory"),
        ("dbname=no_such_database", 'database "no_such_database" does not exist'),
        ("user=nobody_here", 'role "nobody_here" does not exist'),
    ],
)
def test_a_database_that_cannot_be_reached_is_told_with_the_remedy(store_dsn: str, change: str, says: str) -> None:
    done = run(f"{store_dsn} {change} password=secret-word", "ls")
    assert (done.exit_code, done.stdout) == (1, "")
    assert says in done.stderr
    assert done.stderr.endswith("; --dsn, HAREL_DSN or the PG* variables name the database\n")
    assert done.stderr.count("\n") == 1
    assert "secret-word" not in done.stderr


def test_a_dsn_that_cannot_be_read_is_a_bad_use(store_dsn: str) -> None:
    done = run("secret-word", "ls")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "the DSN is no connection string or URI that libpq understands\n"


def test_a_role_that_may_not_is_told_who_can_let_it_in(store_dsn: str, session: "psycopg.Connection[Any]") -> None:
    for statement in (
        "CREATE ROLE cli_stranger LOGIN",
        "CREATE ROLE cli_reader LOGIN",
        "SELECT harel_grant('cli_reader', 'reader')",
    ):
        session.execute(statement)
    try:
        done = run(f"{store_dsn} user=cli_stranger", "ls")
        assert (done.exit_code, done.stdout) == (1, "")
        assert "permission denied" in done.stderr
        assert "SELECT harel_grant('role', 'worker')" in done.stderr
        session.execute("SELECT harel_commit_cas('a', 'd', '{}', 0)")
        for command in (
            ["ls"],
            ["show", "a"],
            ["trace", "a"],
            ["timers"],
            ["outbox"],
            ["dead"],
            ["flow", "d"],
            ["top", "-n", "1"],
        ):
            assert run(f"{store_dsn} user=cli_reader", *command).exit_code == 0, command
        assert run(f"{store_dsn} user=cli_reader", "send", "a", "Paid").exit_code == 1
    finally:
        session.execute("SELECT harel_grant('cli_reader', 'none')")
        session.execute("DROP OWNED BY cli_reader, cli_stranger")
        session.execute("DROP ROLE cli_reader, cli_stranger")


def test_a_service_names_the_database(filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = "\n".join(f"{name}={value}" for name, value in psycopg.conninfo.conninfo_to_dict(filled).items())
    (tmp_path / "services").write_text(f"[shop]\n{settings}\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    monkeypatch.setenv("PGSERVICE", "shop")
    done = CliRunner().invoke(app, ["show", "stock"])
    assert (done.exit_code, done.stderr) == (0, "")


def test_a_pipe_gets_no_colours_and_a_terminal_does(filled: str) -> None:
    command = [sys.executable, "-m", "harel", "ls", "--dsn", filled]
    piped = subprocess.run(command, capture_output=True, check=True).stdout
    assert b"\x1b" not in piped
    assert b"\x1b[36mRUNNING" in on_a_terminal(command)


def test_no_control_character_of_a_context_reaches_a_terminal(
    session: "psycopg.Connection[Any]", store_dsn: str
) -> None:
    PostgresStore(session).save(Execution(id="a", definition_id="d", context={"x": "\x9b31mü\u202e"}))
    seen = on_a_terminal([sys.executable, "-m", "harel", "show", "a", "--dsn", store_dsn]).decode()
    assert r"\u009b31mü\u202e" in seen
    assert not set(seen) & set("\x9b\u202e")


def on_a_terminal(command: list[str]) -> bytes:
    """What a command writes to a terminal of UTF-8."""
    leader, follower = os.openpty()
    seen: list[bytes] = []

    def read() -> None:
        while True:
            try:
                seen.append(os.read(leader, 4096))
            except OSError:
                return

    reader = threading.Thread(target=read)
    reader.start()
    environment = {**os.environ, "TERM": "xterm-256color", "PYTHONUTF8": "1"}
    subprocess.run(command, stdout=follower, stderr=follower, env=environment, check=True)
    os.close(follower)
    reader.join(10)
    os.close(leader)
    return b"".join(seen)


def test_a_terminal_that_lacks_characters_shows_the_others(session: "psycopg.Connection[Any]", store_dsn: str) -> None:
    PostgresStore(session).save(Execution(id="größe", definition_id="d", active_path="/straße"))
    for command, shown in (["show", "größe"], "gr??e"), (["show", "größe", "--json"], "gr\\u00f6\\u00dfe"):
        done = subprocess.run(
            [sys.executable, "-m", "harel", *command, "--dsn", store_dsn],
            env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, text=True,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        assert shown in done.stdout


def test_a_reader_that_goes_away_is_no_error(filled: str) -> None:
    command = (
        f"{sys.executable} -m harel ls --all --json --dsn '{filled}' | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", ["doctor", "ls --json", "--version"])
def test_a_full_disk_is_told_in_one_line(store_dsn: str, command: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "harel", *command.split()],
            env={**os.environ, "HAREL_DSN": store_dsn}, stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "[Errno 28] No space left on device\n")


def test_an_output_that_is_closed_is_no_error(filled: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m harel ls --json >&-"],
        env={**os.environ, "HAREL_DSN": filled}, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_no_text_is_a_bad_use(store_dsn: str) -> None:
    done = run(store_dsn, "show", "\udcff")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)


@pytest.mark.one_server("Citus (13.2) does not tell the node of a call that the session may only read")
def test_a_standby_has_a_remedy(store_dsn: str) -> None:
    done = run(f"{store_dsn} options='-c default_transaction_read_only=on'", "new", "d")
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.endswith("name a server or a role that may write.\n")
