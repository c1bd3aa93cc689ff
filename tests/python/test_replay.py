"""Event logs through the store, with workers killed and a server crashed on the way."""

import csv
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest

from harel.demo import write_orders
from harel.embedded import EmbeddedServer
from harel.engine.execution import Execution
from harel.engine.store import PostgresStore
from harel.replay import (
    Log,
    LogError,
    ProofFailed,
    Replay,
    ReplayError,
    Tally,
    apply,
    open_store,
    prove,
    read_log,
)

HEADER = "case_id,activity,lifecycle,timestamp,resource\n"
SMALL = HEADER + (
    "a,placed,,2024-03-01T08:00:00+00:00,shop\n"
    "b,placed,,2024-03-01T08:30:00+00:00,shop\n"
    'a,"paid, late",START,2024-03-03T09:00:00+00:00,Åsa\n'
    'a,"paid, late",COMPLETE,2024-03-03T09:01:00+00:00,Åsa\n'
    "b,cancelled,,2024-03-02T08:30:00+00:00,\n"
    "c,placed,,2024-03-02T10:00:00+00:00,shop\n"
)


def replay_here(log: Log, store: PostgresStore) -> Tally:
    """Replays a log in this process."""
    tally = Tally()
    for case_id, rows in log.cases.items():
        for position in range(len(rows)):
            apply(store, log.definition_id, case_id, rows, position, log.waits, tally)
    return tally


@pytest.fixture
def small(tmp_path: Path) -> Log:
    path = tmp_path / "small.csv"
    path.write_text(SMALL, encoding="utf-8")
    return read_log(path)


@pytest.fixture
def orders(tmp_path: Path) -> Log:
    path = tmp_path / "orders.csv"
    write_orders(path, 60)
    return read_log(path)


@pytest.fixture
def store(dsn: str) -> Iterator[PostgresStore]:
    store = open_store(dsn, create_schema=True)
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


def test_generated_orders_have_4_to_12_rows_and_depend_on_the_seed_only(tmp_path: Path) -> None:
    for name, seed in ("one", 1), ("same", 1), ("two", 2):
        write_orders(tmp_path / name, 300, seed)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "same").read_bytes() != (tmp_path / "two").read_bytes()
    log = read_log(tmp_path / "one")
    assert len(log.cases) == 300
    assert {len(rows) for rows in log.cases.values()} >= {4, 12}
    assert all(4 <= len(rows) <= 12 for rows in log.cases.values())
    assert all(a.at < b.at for rows in log.cases.values() for a, b in pairwise(rows))
    assert "awaiting payment" in log.waits
    assert "paid" not in log.waits


def test_a_waiting_state_arms_a_timer_that_the_next_event_disarms(small: Log, store: PostgresStore) -> None:
    rows, tally = small.cases["a"], Tally()
    apply(store, "small", "a", rows, 0, small.waits, tally)
    due = rows[0].at + small.waits["placed"]
    assert store.due_timers(due) == [("a", "placed", due)]
    apply(store, "small", "a", rows, 1, small.waits, tally)
    assert store.due_timers(due) == []
    exe = store.load("a")
    assert exe is not None
    assert (exe.status, exe.active_path, exe.context, exe.version) == (
        "RUNNING", "paid, late/START", {"position": 2}, 2,
    )  # fmt: skip


def test_an_event_delivered_again_is_recognised(small: Log, dsn: str, store: PostgresStore) -> None:
    assert replay_here(small, store).recognised == 0
    again = replay_here(small, store)
    assert (again.applied, again.recognised) == (0, 6)
    assert [entry.event.kind for entry in store.pending_outbox()] == ["Finished"] * 3
    assert all(check.holds for check in prove(small, dsn))


def test_a_lost_race_is_decided_anew(small: Log, dsn: str, store: PostgresStore) -> None:
    class Overtaken(PostgresStore):
        def commit(self, exe: Execution, *arguments: Any, **named: Any) -> list[int]:
            # The rival handles the very event that this store is about to commit.
            apply(store, "small", "a", small.cases["a"], exe.version, small.waits, won)
            return super().commit(exe, *arguments, **named)

    won, lost = Tally(), Tally()
    loser = Overtaken.from_dsn(dsn, trace_max=0)
    for position in range(3):
        apply(loser, "small", "a", small.cases["a"], position, small.waits, lost)
    loser.close()
    assert (won.applied, lost.applied, lost.conflicts, lost.recognised) == (3, 0, 3, 3)
    assert len(store.read_trace("a")) == 3


def test_an_event_is_refused_unless_all_before_it_are_applied(small: Log, store: PostgresStore) -> None:
    with pytest.raises(ReplayError, match="event 1 of case 'a' cannot be applied: 0 rows before"):
        apply(store, "small", "a", small.cases["a"], 1, small.waits, Tally())
    apply(store, "small", "a", small.cases["a"], 0, small.waits, Tally())
    with pytest.raises(ReplayError, match="event 2 of case 'a' cannot be applied: 1 rows before"):
        apply(store, "small", "a", small.cases["a"], 2, small.waits, Tally())


def test_an_execution_of_another_definition_is_left_alone(small: Log, store: PostgresStore) -> None:
    apply(store, "another", "a", small.cases["a"], 0, small.waits, Tally())
    with pytest.raises(ReplayError, match="case 'a' is taken by an execution of definition 'another'"):
        apply(store, "small", "a", small.cases["a"], 1, small.waits, Tally())


@pytest.mark.parametrize(
    ("tampering", "says"),
    [
        ("DELETE FROM executions WHERE id = 'b'", "each case is one execution (1 differ, such as b has no execution)"),
        (
            "UPDATE executions SET id = 'x' WHERE id = 'b'",
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
            "INSERT INTO outbox (target_id, event, source_id) SELECT target_id, event, source_id FROM outbox LIMIT 1",
            "once, and nothing else (1 differ, such as a has emitted 2 events, of which Finished: 2)",
        ),
        ("DELETE FROM outbox WHERE source_id = 'c'", "c has emitted 0 events"),
        ("INSERT INTO timers VALUES ('b', 'placed', 0)", "b still waits in placed"),
        ("INSERT INTO spawns (parent_id, child_id, root_path, context) VALUES ('b', 'x', '', '{}')", "still spawns x"),
    ],
)
def test_the_proof_detects_a_tampered_store(
    small: Log, dsn: str, store: PostgresStore, tampering: str, says: str
) -> None:
    replay_here(small, store)
    with psycopg.connect(dsn) as connection:
        connection.execute(tampering)
    with pytest.raises(ProofFailed) as failed:
        prove(small, dsn)
    assert says in str(failed.value)
    assert any(check.holds for check in failed.value.checks)


def test_the_proof_holds_in_a_store_that_has_other_executions(small: Log, dsn: str, tmp_path: Path) -> None:
    store = open_store(dsn, 'the "schema" of 100 %'.replace('"', ""), create_schema=True)
    other = tmp_path / "other.csv"
    other.write_text(SMALL.replace("\na,", "\naa,").replace("\nb,", "\nbb,").replace("\nc,", "\ncc,"), encoding="utf-8")
    replay_here(small, store)
    replay_here(read_log(other), store)
    assert [check.compared for check in prove(small, dsn, "the schema of 100 %")] == [3, 6, 3, 6, 3, 3, 2, 0]
    store.close()


def test_workers_that_race_for_every_case_apply_each_event_once(orders: Log, dsn: str, store: PostgresStore) -> None:
    replayed = Replay(orders, dsn, workers=2, contested=1).run()
    assert replayed.tally.applied == orders.events
    assert replayed.tally.recognised == orders.events
    assert replayed.tally.latencies.total() == orders.events
    assert 0 < replayed.tally.latency(0.5) <= replayed.tally.latency(0.99)
    assert all(check.holds for check in prove(orders, dsn))


def test_a_killed_worker_and_a_crashed_server_lose_and_repeat_nothing(orders: Log) -> None:
    done: list[int] = []
    crashed_at: list[int] = []
    with EmbeddedServer(settings={"fsync": "off"}) as server:
        open_store(server.dsn, create_schema=True).close()

        def crash() -> None:
            crashed_at.append(done[-1])
            server.stop("immediate")
            server.start()

        replayed = Replay(
            orders, server.dsn, workers=2, kill_at=[0.3], crash_at=[(0.6, crash)], progressed=done.append
        ).run()
        checks = prove(orders, server.dsn)
    [kill] = replayed.kills
    assert kill.handled > 0
    assert kill.left > 0
    assert kill.pid != kill.successor
    assert 0 < crashed_at[0] < orders.events == done[-1]
    assert [check.compared for check in checks[:4]] == [60, orders.events, 60, orders.events]
    assert all(check.holds for check in checks)


def test_a_worker_that_cannot_go_on_ends_the_replay(small: Log, dsn: str, store: PostgresStore) -> None:
    apply(store, "another", "a", small.cases["a"], 0, small.waits, Tally())
    with pytest.raises(ReplayError, match="worker 1 has failed: ReplayError: case 'a' is taken by"):
        Replay(small, dsn, workers=1).run()


def test_workers_end_when_their_coordinator_is_killed(orders: Log, dsn: str, store: PostgresStore) -> None:
    program = """
import os, signal, sys
from pathlib import Path
from harel.replay import Replay, read_log
Replay(read_log(Path(sys.argv[1])), sys.argv[2], progressed=lambda n: os.kill(os.getpid(), signal.SIGKILL)).run()
"""
    # The pipes for its output are at their end only when the workers, who inherit them, are gone too.
    done = subprocess.run(
        [sys.executable, "-c", program, str(orders.path), dsn], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == -signal.SIGKILL
    assert done.stderr == ""
    # Whoever comes next finishes what was begun.
    tally = replay_here(orders, store)
    assert 0 < tally.recognised < orders.events
    assert all(check.holds for check in prove(orders, dsn))


def helpdesk() -> Path:
    folder = Path(os.environ.get("HAREL_DATA") or Path(__file__).parents[2] / ".." / "shared" / "data")
    path = folder / "helpdesk.csv.gz"
    if not path.exists():
        pytest.skip(f"the event log {path} is absent (HAREL_DATA names its folder)")
    return path


def test_every_ticket_of_a_help_desk_ends_as_its_log_says(dsn: str, store: PostgresStore) -> None:
    path = helpdesk()
    replayed = Replay(read_log(path), dsn, workers=4, kill_at=[0.25, 0.6]).run()
    assert len(replayed.kills) == 2
    assert all(kill.handled > 0 and kill.left > 0 for kill in replayed.kills)
    assert replayed.tally.conflicts > 0
    assert replayed.tally.recognised > 0

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
        for case_id, idx, text in connection.execute("SELECT * FROM trace ORDER BY execution_id, idx"):
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
        armed = connection.execute("SELECT count(*) FROM timers").fetchall()
    assert traces == expected
    assert executions == {
        case_id: ["DONE", rows[-1]["to"], rows[-1]["to"], len(rows), rows[-1]["to"]]
        for case_id, rows in expected.items()
    }
    assert sorted(marks) == sorted((case_id, row["event_id"]) for case_id, rows in expected.items() for row in rows)
    assert sorted(finished) == sorted((case_id, "Finished") for case_id in expected)
    assert armed == [(0,)]
    assert all(check.holds for check in prove(read_log(path), dsn))


@pytest.fixture
def folder() -> Iterator[Path]:
    """A temporary folder that the server can enter, under a short path."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o711)
        yield Path(name)


def demo_environment(**settings: str) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name not in ("HAREL_DSN", "FORCE_COLOR")}
    return {**environment, "PYTHONUNBUFFERED": "1", **settings}


def demo(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harel.demo", *arguments],
        env=demo_environment(**settings),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )


def test_the_demo_survives_both_disturbances_and_proves_it(orders: Log, folder: Path) -> None:
    done = demo(str(orders.path), TMPDIR=str(folder), PYTHONIOENCODING="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    assert "killed with SIGKILL" in done.stdout
    assert "stopped with -m immediate" in done.stdout
    assert done.stdout.count("✓") == 8
    assert "✗" not in done.stdout
    assert "Trace of order-" in done.stdout
    # A pipe gets neither colours nor a moving bar.
    assert "\x1b" not in done.stdout
    assert "\r" not in done.stdout
    assert list(folder.iterdir()) == []


def test_the_demo_leaves_a_server_that_is_not_its_own_as_it_was(orders: Log, dsn: str) -> None:
    done = demo(str(orders.path), HAREL_DSN=dsn, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "will not be crashed" in done.stdout
    assert done.stdout.isascii()
    with psycopg.connect(dsn) as connection:
        assert connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'harel%'").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM pg_extension WHERE extname = 'harel'").fetchone() == (0,)


def test_the_demo_says_what_is_wrong_with_a_log_and_starts_nothing(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("case_id,when\n")
    done = demo(str(path), TMPDIR=str(folder))
    assert done.returncode == 2
    assert done.stderr.startswith(f"{path}, line 1: the header has no column activity")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_leaves_nothing_behind(number: signal.Signals, folder: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "harel.demo"],
        env=demo_environment(TMPDIR=str(folder)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background may have them ignore Ctrl-C, and a child inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdout is not None
        # In the middle of the work, then.
        assert any("killed with SIGKILL" in line for line in process.stdout)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "Traceback" not in errors
    assert list(folder.iterdir()) == []
