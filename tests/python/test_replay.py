"""Event logs through the queue, with workers and the server killed on the way."""

import csv
import gzip
import json
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cluster import SHARDS, Cluster, execute
from harel import Event, Execution, PostgresStore, PostgresTransport
from harel.embedded import EmbeddedServer
from harel.replay import Log, LogError, ProofFailed, Replay, ReplayError, machine, prove, read_log, row_event
from harel.replay.coordinator import _Database

HEADER = "case_id,activity,lifecycle,timestamp,resource\n"
SMALL = HEADER + (
    "a,placed,,2024-03-01T08:00:00+00:00,shop\n"
    "b,placed,,2024-03-01T08:30:00+00:00,shop\n"
    'a,"paid, late",START,2024-03-03T09:00:00+00:00,Åsa\n'
    'a,"paid, late",COMPLETE,2024-03-03T09:01:00+00:00,Åsa\n'
    "b,cancelled,,2024-03-02T08:30:00+00:00,\n"
    "c,placed,,2024-03-02T10:00:00+00:00,shop\n"
)


def replay_here(log: Log, store: PostgresStore) -> None:
    """Replays a log in this process, without the queue."""
    apply = machine(log.waits)
    for case_id, rows in log.cases.items():
        exe = Execution(id=case_id, definition_id=log.definition_id, context={"position": 0})
        store.save(exe)
        for position in range(len(rows)):
            event = row_event(case_id, rows, position)
            step: Any = apply(exe, event)
            store.commit(exe, step.emits, event.id, step.timers, trace=step.trace)


def write_orders(path: Path, orders: int) -> None:
    """A log of orders, the same each time: 4 to 12 rows each, all of them mixed in order of time."""
    chance = random.Random(1987)
    rows = []
    for number in range(orders):
        at = datetime(2024, 3, 1, tzinfo=UTC) + timedelta(minutes=chance.randrange(60 * 24))
        for activity in ("placed", *chance.choices(("paid", "packed", "shipped"), k=chance.randrange(3, 12))):
            rows.append((at.isoformat(), f"order-{number:04},{activity},,{at.isoformat()},Ada\n"))
            at += timedelta(minutes=chance.randrange(1, 300))
    path.write_text(HEADER + "".join(row for _, row in sorted(rows)), encoding="utf-8")


@pytest.fixture
def small(tmp_path: Path) -> Log:
    path = tmp_path / "small.csv"
    path.write_text(SMALL, encoding="utf-8")
    return read_log(path)


@pytest.fixture
def orders(tmp_path: Path) -> Log:
    path = tmp_path / "orders.csv"
    write_orders(path, 400)
    return read_log(path)


@pytest.fixture
def place(request: pytest.FixtureRequest) -> str:
    """The DSN of a fresh database: without a store, or with one that is spread over several nodes."""
    dsn: str = request.getfixturevalue("store_dsn" if SHARDS else "dsn")
    return dsn


@pytest.fixture
def store(place: str) -> Iterator[PostgresStore]:
    store = PostgresStore.from_dsn(place)
    yield store
    store.close()


def test_a_log_keeps_cases_and_the_order_of_their_rows(small: Log) -> None:
    assert small.definition_id == "small"
    assert small.events == 6
    assert {case_id: [row.state for row in rows] for case_id, rows in small.cases.items()} == {
        "a": ["placed", "paid, late/START", "paid, late/COMPLETE"],
        "b": ["placed", "cancelled"],
        "c": ["placed"],
    }
    assert small.order == ["a", "b", "a", "a", "b", "c"]
    assert small.cases["a"][1].resource == "Åsa"
    assert small.cases["a"][1].timestamp == "2024-03-03T09:00:00+00:00"
    assert small.cases["a"][1].at - small.cases["a"][0].at == 49 * 3600


def test_a_state_waits_where_most_stays_are_longer_than_an_hour(small: Log) -> None:
    assert small.waits == {"placed": 49 * 3600 + 1}


def test_gzip_is_recognised_by_content(small: Log, tmp_path: Path) -> None:
    packed = tmp_path / "no-ending"
    packed.write_bytes(gzip.compress(SMALL.encode(), mtime=0))
    assert read_log(packed).cases == small.cases


def test_columns_may_come_in_any_order_with_others_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(
        "\ufeffamount,resource,timestamp,lifecycle,activity,case_id\r\n9,shop,2024-03-01,,placed,a\r\n".encode()
    )
    [row] = read_log(path).cases["a"]
    assert (row.state, row.resource, row.at) == ("placed", "shop", 1709251200.0)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "line 1: the file is empty"),
        (HEADER.encode(), "line 2: there are no events"),
        (b"case_id,lifecycle,timestamp\n", "line 1: the header has no column activity and no column resource"),
        ((HEADER + "a,x,,2024-03-01,r\n,x,,2024-03-01,r\n").encode(), "line 3: the case_id is empty"),
        ((HEADER + "a,,,2024-03-01,r\n").encode(), "line 2: the activity is empty"),
        ((HEADER + '"a\n",x,,2024-03-01,r\na,x,,yesterday,r\n').encode(), "line 4: 'yesterday' is no ISO 8601 time"),
        ((HEADER + "a,x,2024-03-01,r\n").encode(), "line 2: 4 fields under a header of 5"),
        ((HEADER + "a,x,,2024-03-01,r\n\na,x,,2024-03-01,r,s\n").encode(), "line 4: 6 fields under a header of 5"),
        ((HEADER + 'a,"x,,2024-03-01,r\n').encode(), "line 2: unexpected end of data"),
        ((HEADER + "a,x,,2024-03-01,r\na,x\0,,2024-03-01,r\n").encode(), "line 3: there is a NUL character"),
        (HEADER.encode() + b"a,x,,2024-03-01,r\na,\xff,,2024-03-01,r\n", "line 3: the text is not UTF-8"),
        ((HEADER + f"{'ä' * 491},x,,2024-03-01,r\n").encode(), "line 2: the case_id is longer than 980 bytes"),
        ((HEADER + f"a,{'x' * 1001},,2024-03-01,r\n").encode(), "line 2: the state is longer than 1000 bytes"),
        (gzip.compress(SMALL.encode(), mtime=0)[:-9], "the file cannot be read: Compressed file ended before"),
        (gzip.compress(SMALL.encode(), mtime=0)[:10] + b"\xff" * 20, "the file cannot be read: Error -3"),
    ],
)
def test_a_log_that_cannot_be_replayed_names_file_and_line(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(LogError, match=re.escape(str(path)) + ", line .*" + re.escape(says.removeprefix("line "))):
        read_log(path)


def test_a_log_that_is_not_there_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"absent\.csv, line 1: the file cannot be read: No such file"):
        read_log(tmp_path / "absent.csv")
    with pytest.raises(LogError, match="Is a directory"):
        read_log(tmp_path)


def test_a_waiting_state_arms_a_timer_that_the_next_event_disarms(small: Log) -> None:
    apply, rows = machine(small.waits), small.cases["a"]
    exe = Execution(id="a", definition_id="small", context={"position": 0})
    before = time.time()
    step: Any = apply(exe, row_event("a", rows, 0))
    [timer] = step.timers
    assert (timer.action, timer.path, step.trace["timer"]) == ("schedule", "placed", timer.fire_at)
    assert timer.fire_at >= before + small.waits["placed"]
    assert (exe.status, exe.active_path, exe.context, step.emits) == ("RUNNING", "placed", {"position": 1}, ())
    step = apply(exe, row_event("a", rows, 1))
    assert [(timer.action, timer.path) for timer in step.timers] == [("cancel", "placed")]
    step = apply(exe, row_event("a", rows, 2))
    assert (exe.status, exe.outcome) == ("DONE", "paid, late/COMPLETE")
    assert [(target, event.id, event.kind) for target, event in step.emits] == [(None, "a#Finished", "Finished")]


@pytest.mark.parametrize("applied", [0, 2])
def test_an_event_is_refused_unless_exactly_those_before_it_are_applied(small: Log, applied: int) -> None:
    exe = Execution(id="a", definition_id="small", context={"position": applied})
    with pytest.raises(ReplayError, match=f"event 'a#1' cannot be applied: {applied} rows before it have been"):
        machine(small.waits)(exe, row_event("a", small.cases["a"], 1))


@pytest.mark.parametrize(
    ("tampering", "says"),
    [
        ("DELETE FROM executions WHERE id = 'b'", "each case is one execution (1 differ, such as b has no execution)"),
        (
            "INSERT INTO executions (id, definition_id, data, version, status, outcome, active_path, finished_at) "
            "SELECT 'x', definition_id, data, version, status, outcome, active_path, finished_at "
            "FROM executions WHERE id = 'b'; DELETE FROM executions WHERE id = 'b'",
            "each case is one execution (2 differ, such as b has no execution)",
        ),
        ("UPDATE executions SET definition_id = 'x' WHERE id = 'b'", "b is of definition x"),
        ("DELETE FROM processed_events WHERE event_id = 'a#2'", "a has no mark of a#2"),
        ("INSERT INTO processed_events VALUES ('a', 'more')", "a has a mark of no row, more"),
        ("UPDATE executions SET version = version + 1 WHERE id = 'b'", "no step was taken twice (1 differ, such as b"),
        ("DELETE FROM trace WHERE execution_id = 'a' AND idx = 1", "its place in the log (1 differ, such as a has no"),
        ("INSERT INTO trace SELECT 'a', 3, entry FROM trace WHERE execution_id = 'a' AND idx = 2", "of no row, 3"),
        (
            "UPDATE trace SET idx = CASE idx WHEN 1 THEN 20 ELSE 1 END WHERE execution_id = 'a' AND idx IN (1, 2); "
            "UPDATE trace SET idx = 2 WHERE idx = 20",
            "its place in the log (2 differ, such as a has another entry 1)",
        ),
        ("UPDATE trace SET entry = replace(entry, 'Åsa', 'Bo') WHERE idx = 1", "a has another entry 1"),
        ("UPDATE executions SET status = 'RUNNING' WHERE id = 'b'", "is RUNNING in 'cancelled', not DONE"),
        ("UPDATE executions SET active_path = 'x' WHERE id = 'b'", "b is DONE in 'x', not DONE in 'cancelled'"),
        (
            "INSERT INTO outbox (target_id, event, source_id) "
            "SELECT target_id, event, source_id FROM outbox WHERE source_id = 'a' LIMIT 1",
            "once, and nothing else (1 differ, such as a has emitted 2 events, of which Finished: 2)",
        ),
        ("DELETE FROM outbox WHERE source_id = 'c'", "c has emitted 0 events"),
        ("INSERT INTO timers VALUES ('b', 'placed', 0)", "b still waits in placed"),
        ("INSERT INTO transport_messages VALUES ('b', 7, '{}')", "b still has a message 7"),
        (
            "INSERT INTO transport_groups (group_id, available_at, head, tail, priority) VALUES ('b', 0, 5, 5, 0)",
            "b still has a message 5",
        ),
        (
            "INSERT INTO dead_letters (group_id, seq, event, reason, attempts, published_at) "
            "VALUES ('b', 1, '{}', 'too often', 20, now())",
            "b has a dead letter: too often",
        ),
        ("INSERT INTO spawns (parent_id, child_id, root_path, context) VALUES ('b', 'x', '', '{}')", "still spawns x"),
    ],
)
def test_the_proof_detects_a_tampered_store(
    small: Log, place: str, store: PostgresStore, tampering: str, says: str
) -> None:
    replay_here(small, store)
    with psycopg.connect(place) as connection:
        connection.execute(tampering)
    with pytest.raises(ProofFailed) as failed:
        prove(small, place)
    assert says in str(failed.value)
    assert any(check.holds for check in failed.value.checks)


def test_the_proof_holds_in_a_store_that_has_other_executions(small: Log, dsn: str, tmp_path: Path) -> None:
    schema = "the schema of 100 %"
    other = tmp_path / "other.csv"
    other.write_text(SMALL.replace("\na,", "\naa,").replace("\nb,", "\nbb,").replace("\nc,", "\ncc,"), encoding="utf-8")
    with psycopg.connect(dsn, autocommit=True) as connection:
        store = PostgresStore(connection, schema=schema)
        replay_here(read_log(other), store)
        PostgresTransport(connection, schema=schema).publish("elsewhere", Event(kind="waits"))
    assert Replay(small, dsn, schema=schema, workers=1).run().tally["finished"] == 6
    assert [check.compared for check in prove(small, dsn, schema)] == [3, 6, 3, 6, 3, 3, 2, 0, 0, 0]


def test_every_event_is_handled_once_without_disturbances(orders: Log, place: str, store: PostgresStore) -> None:
    done: list[int] = []
    replayed = Replay(orders, place, workers=2, visibility=60.0, progressed=done.append).run()
    assert replayed.tally == {"finished": orders.events}
    assert (replayed.kills, replayed.crashes) == ([], 0)
    assert replayed.seconds > 0
    assert done == sorted(done)
    assert done[-1] == orders.events
    assert all(check.holds for check in prove(orders, place))


def test_a_replay_does_not_take_over_an_execution(small: Log, place: str, store: PostgresStore) -> None:
    store.save(Execution(id="b", definition_id="another"))
    with pytest.raises(ReplayError, match="there already is an execution with the id of case 'b'"):
        Replay(small, place, workers=1).run()
    assert multiprocessing.active_children() == []


def test_a_worker_that_ends_unasked_ends_the_replay(orders: Log, place: str, store: PostgresStore) -> None:
    def progressed(events: int) -> None:
        for worker in multiprocessing.active_children():
            worker.kill()

    with pytest.raises(ReplayError, match="worker 1 has ended with exit code -9 and no word"):
        Replay(orders, place, workers=1, progressed=progressed).run()


def test_workers_end_with_their_coordinator_and_another_replay_goes_on(
    orders: Log, place: str, store: PostgresStore
) -> None:
    program = """
import os, signal, sys
from pathlib import Path
from harel.replay import Replay, read_log

def progressed(events):
    if events:
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    Replay(read_log(Path(sys.argv[1])), sys.argv[2], workers=2, progressed=progressed).run()
"""
    # The pipes for its output are at their end only when the workers, who inherit them, are gone too.
    done = subprocess.run(
        [sys.executable, "-c", program, str(orders.path), place], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, "")
    with psycopg.connect(place) as connection:
        [(before,)] = connection.execute("SELECT sum(version - 1) FROM executions")
    assert 0 < before < orders.events
    assert Replay(orders, place, workers=2).run().tally["finished"] == orders.events - before
    assert all(check.holds for check in prove(orders, place))


def helpdesk() -> Path:
    folder = Path(os.environ.get("HAREL_DATA") or Path(__file__).parents[2] / ".." / "shared" / "data")
    path = folder / "helpdesk.csv.gz"
    if not path.exists():
        pytest.skip(f"the event log {path} is absent (HAREL_DATA names its folder)")
    return path


@contextmanager
def server_with_a_store() -> Iterator[tuple[EmbeddedServer, str]]:
    """A server that a test crashes, and a database with a store there: of several nodes the coordinator."""
    if SHARDS:
        with Cluster() as cluster:
            dsn = cluster.create_database("helpdesk")
            execute(dsn, "CREATE EXTENSION harel")
            execute(dsn, "SELECT harel_distribute(%s)", SHARDS)
            yield cluster.servers[0], dsn
    else:
        with EmbeddedServer(settings={"fsync": "off"}) as server:
            PostgresStore.from_dsn(server.dsn).close()
            yield server, server.dsn


def test_every_ticket_of_a_help_desk_ends_as_its_log_says() -> None:
    path = helpdesk()
    with server_with_a_store() as (server, dsn):

        def crash() -> None:
            server.stop("immediate")
            server.start()

        replayed = Replay(read_log(path), dsn, workers=4, kills=20, crash=crash, seed=2).run()
        assert len(replayed.kills) + replayed.crashes == 20
        assert len(replayed.kills) > replayed.crashes > 1
        # In the middle of the work: each left something in its hands, and what it had done before was not in vain.
        assert all(kill.leases > 0 and kill.pid != kill.successor for kill in replayed.kills)
        assert sum(kill.handled for kill in replayed.kills) > 0

        expected: dict[str, list[dict[str, Any]]] = {}
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                entries = expected.setdefault(row["case_id"], [])
                before = entries[-1]["to"] if entries else None
                entries.append(
                    {
                        "event_id": f"{row['case_id']}#{len(entries)}",
                        "from": before,
                        "to": row["activity"],
                        "timestamp": row["timestamp"],
                        "resource": row["resource"],
                    }
                )
        with psycopg.connect(dsn) as connection:
            traces: dict[str, list[dict[str, Any]]] = {}
            for case_id, idx, text in connection.execute(
                "SELECT execution_id, idx, entry FROM trace ORDER BY execution_id, idx"
            ):
                assert idx == len(traces.setdefault(case_id, []))
                entry = json.loads(text)
                entry.pop("timer", None)
                traces[case_id].append(entry)
            executions = {
                case_id: state
                for case_id, *state in connection.execute(
                    "SELECT id, status, outcome, active_path, version, data::json ->> 'active_path' FROM executions"
                )
            }
            marks = connection.execute("SELECT execution_id, event_id FROM processed_events").fetchall()
            finished = connection.execute("SELECT source_id, event::json ->> 'kind' FROM outbox").fetchall()
            left = {
                table: connection.execute(f"SELECT count(*) FROM {table}").fetchall()
                for table in ("timers", "spawns", "transport_groups", "transport_messages", "dead_letters")
            }
        assert traces == expected
        assert executions == {
            case_id: ["DONE", rows[-1]["to"], rows[-1]["to"], len(rows) + 1, rows[-1]["to"]]
            for case_id, rows in expected.items()
        }
        assert sorted(marks) == sorted((case_id, row["event_id"]) for case_id, rows in expected.items() for row in rows)
        assert sorted(finished) == sorted((case_id, "Finished") for case_id in expected)
        assert set(map(str, left.values())) == {"[(0,)]"}
        assert all(check.holds for check in prove(read_log(path), dsn))


@pytest.fixture
def folder() -> Iterator[Path]:
    """A temporary folder that the server can enter, under a short path."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o711)
        yield Path(name)


def environment(**settings: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("HAREL_DSN", "FORCE_COLOR")}
    return {**kept, "PYTHONUNBUFFERED": "1", "COLUMNS": "120", **settings}


def harel_replay(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harel", "replay", *arguments],
        env=environment(**settings),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )


def test_the_command_shows_the_disturbances_and_the_proof(tmp_path: Path, folder: Path) -> None:
    # So many that there is time for both, which this seed has in the first fifth.
    path = tmp_path / "orders.csv"
    write_orders(path, 1600)
    done = harel_replay(
        str(path), "--workers=2", "--kills=2", "--seed=15", TMPDIR=str(folder), PYTHONIOENCODING="utf-8"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 worker processes" in done.stdout
    assert "seed 15" in done.stdout
    assert re.search(r"worker \d \(pid \d+\) killed, \d+ events in its hands", done.stdout)
    assert "stopped with -m immediate" in done.stdout
    assert done.stdout.count("✓") == 10
    assert "✗" not in done.stdout
    assert "Trace of order-" in done.stdout
    # A pipe gets neither colours nor a moving bar.
    assert "\x1b" not in done.stdout
    assert "\r" not in done.stdout
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("how", ["--dsn", "HAREL_DSN"])
def test_the_command_leaves_a_server_that_is_not_its_own_as_it_was(small: Log, dsn: str, how: str) -> None:
    arguments, settings = (["--dsn", dsn], {}) if how == "--dsn" else ([], {how: dsn})
    done = harel_replay(str(small.path), "--workers=1", *arguments, PYTHONIOENCODING="ascii", **settings)
    assert (done.returncode, done.stderr) == (0, "")
    assert "will not be crashed" in done.stdout
    assert "too short" in done.stdout
    assert done.stdout.isascii()
    assert "?sa" in done.stdout
    with psycopg.connect(dsn) as connection:
        assert connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'harel%'").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM pg_extension WHERE extname = 'harel'").fetchone() == (0,)


def test_the_command_says_what_is_wrong_with_a_log_and_starts_nothing(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("case_id,when\n")
    done = harel_replay(str(path), TMPDIR=str(folder))
    assert done.returncode == 2
    assert done.stderr.startswith(f"{path}, line 1: the header has no column activity")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_replay_leaves_nothing_behind(number: signal.Signals, tmp_path: Path, folder: Path) -> None:
    # So many that it is not done before it is interrupted.
    write_orders(tmp_path / "orders.csv", 5000)
    with subprocess.Popen(
        [sys.executable, "-m", "harel", "replay", str(tmp_path / "orders.csv"), "--workers=2", "--kills=20"],
        env=environment(TMPDIR=str(folder)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background may have them ignore Ctrl-C, and a child inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        # In the middle of the work, then, and to all, as a terminal does.
        assert any("events in its hands" in line for line in process.stdout)
        os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number, errors
    assert "Traceback" not in errors
    assert list(folder.iterdir()) == []


def test_a_replay_that_is_over_waits_for_no_server() -> None:
    over, begun = threading.Event(), time.monotonic()
    over.set()
    with pytest.raises(psycopg.OperationalError):
        _Database("host=/nowhere", None, over).run(lambda: None)
    assert time.monotonic() - begun < 10
