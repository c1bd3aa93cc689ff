"""The workers of docs/examples, at work on one queue: together, killed, and with everything that can go wrong."""

import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest
from languages import EXAMPLES, JARS, LANGUAGES, command, environment, reachable, uri
from wire import DEADLINE, until

# The client of Python has tests of its own for what a worker does when something goes wrong.
CALLING_SQL = [name for name in LANGUAGES if name != "python"]

PAGE = EXAMPLES.parent / "how-to" / "other-languages.md"
# Other tests have workers on the same server.
SESSIONS = "SELECT * FROM pg_stat_activity WHERE datname = current_database()"
ANOTHER_COMMIT = "SELECT harel_commit_cas('order-1', 'order', %s, 1, NULL)"
CUSTOMER = {"name": 'O\'Brien "x" \\ $HOME `ls` 100%', "since": 1.5, "tags": [None, "ä€😀", "{a,b}"]}
WAY = {
    "shipped": [["Place", None, "/paying"], ["Paid", "/paying", "/shipping"], ["Shipped", "/shipping", "/shipped"]],
    "expired": [["Place", None, "/paying"], ["Timeout", "/paying", "/expired"]],
}


@pytest.fixture(scope="session")
def server() -> Iterator[tuple[str, int]]:
    with reachable(os.environ["HAREL_TEST_DSN"]) as address:
        yield address


class Running:
    """A worker as a process."""

    def __init__(self, language: str, dsn: str, errors: Path) -> None:
        self._errors = errors
        with errors.open("w") as said:
            self.process = subprocess.Popen(
                command(language),
                cwd=EXAMPLES / language,
                env=environment(dsn),
                stderr=said,
                start_new_session=True,
                # Tests in the background of a shell ignore Ctrl-C, and whatever they start does.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )

    def is_up(self) -> bool:
        assert self.process.poll() is None, f"ended with {self.process.returncode}: {self.said()}"
        return True

    def said(self) -> str:
        return self._errors.read_text()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Ends it as a terminal or a supervisor does, and sees that this is a good end."""
        self.ask_to_end(number)
        self.has_ended_well()

    def ask_to_end(self, number: signal.Signals) -> None:
        # Ctrl-C goes to all processes of the terminal.
        (os.killpg if number == signal.SIGINT else os.kill)(self.process.pid, number)

    def has_ended_well(self) -> None:
        assert self.process.wait(DEADLINE) == 0, self.said()


Start = Callable[[str], Running]


@pytest.fixture
def start(store_dsn: str, server: tuple[str, int], tmp_path: Path) -> Iterator[Start]:
    """Starts the worker of a language on the fresh database."""
    running: list[Running] = []

    def started(language: str) -> Running:
        dsn = uri(language, store_dsn, *server, language)
        running.append(Running(language, dsn, tmp_path / f"{language}-{len(running)}"))
        return running[-1]

    yield started
    for worker in running:
        worker.kill()


def _names(workers: Sequence[Running]) -> str:
    """A pattern for the names of these workers, which hold their process ids; one for all where there are none."""
    return f":({'|'.join(str(worker.process.pid) for worker in workers)})(:|$)" if workers else ""


class Orders:
    """A database with orders, seen from beside the workers."""

    def __init__(self, session: "psycopg.Connection[Any]") -> None:
        self._session = session

    def rows(self, sql: Any, *parameters: Any) -> list[Any]:
        return self._session.execute(sql, parameters).fetchall()

    def run(self, sql: Any, *parameters: Any) -> None:
        self._session.execute(sql, parameters)

    def value(self, sql: Any, *parameters: Any) -> Any:
        ((value,),) = self.rows(sql, *parameters)
        return value

    def place(self, ids: range) -> None:
        """Places orders, all in one transaction. One of five is not paid in time."""
        with self._session.transaction():
            self.save("warehouse", "warehouse")
            for n in ids:
                self.save(f"order-{n}", "order")
                expired = n % 5 == 0
                self.publish(f"order-{n}", "Place", data={"pay_until": 1 if expired else 4102444800.5})
                if not expired:
                    self.publish(f"order-{n}", "Paid")

    def save(self, id: str, definition: str) -> None:
        data = {"id": id, "definition_id": definition, "status": "PENDING", "customer": CUSTOMER}
        self.run("SELECT harel_commit_cas(%s, %s, %s, 0, NULL)", id, definition, json.dumps(data))

    def publish(self, group: str, kind: str, *, id: str | None = None, data: Any = None) -> None:
        event = {"id": id or f"{group}:{kind}", "kind": kind, **({} if data is None else {"data": data})}
        self.run("SELECT harel_publish(%s, %s)", group, json.dumps(event))

    def ended(self) -> int:
        return int(self.value("SELECT count(*) FROM executions WHERE definition_id = 'order' AND status = 'DONE'"))

    def nothing_is_left(self) -> bool:
        tables = ("transport_groups", "transport_messages", "outbox", "spawns", "timers")
        return not any(self.value(f"SELECT count(*) FROM {table}") for table in tables)

    def held_by(self, worker: Running) -> list[str]:
        """The executions whose messages the worker has in hand."""
        held = "SELECT group_id FROM transport_groups WHERE token IS NOT NULL AND worker ~ %s"
        return [group for (group,) in self.rows(held, _names([worker]))]

    def let_leases_run_out(self, *workers: Running) -> None:
        """Those of these workers, or all."""
        # It waits for nobody: whoever settles at this moment has not lost the lease.
        self.run(
            "UPDATE transport_groups SET available_at = extract(epoch FROM clock_timestamp()) WHERE group_id IN ("
            "SELECT group_id FROM transport_groups WHERE token IS NOT NULL AND worker ~ %s FOR UPDATE SKIP LOCKED)",
            _names(workers),
        )

    def blocked_by(self, session: "psycopg.Connection[Any]") -> list[int]:
        """The backends that wait for this session. The sessions of one worker may wait for each other for a moment."""
        waiting = "SELECT pid FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))"
        return [pid for (pid,) in self.rows(waiting, session.info.backend_pid)]

    def cut(self, *pids: int) -> None:
        """Ends sessions, and waits until they are gone, whoever else may have ended them before."""
        self.rows("SELECT pg_terminate_backend(pid) FROM unnest(%s::integer[]) pid", list(pids))
        until(lambda: not self.rows("SELECT FROM pg_stat_activity WHERE pid = ANY (%s)", list(pids)))

    def prove(self, ids: range) -> Counter[str]:
        """Every order went its way, each step once and in order, and is otherwise as it was. Returns who took part."""
        steps: Counter[str] = Counter()
        outcomes: Counter[str] = Counter()
        for n in ids:
            data, version = self.rows("SELECT data::json, version FROM executions WHERE id = %s", f"order-{n}")[0]
            outcome = "expired" if n % 5 == 0 else "shipped"
            trace = [json.loads(entry) for _, entry in self.rows("SELECT * FROM harel_read_trace(%s)", f"order-{n}")]
            assert [[entry["event"], entry["from"], entry["to"]] for entry in trace] == WAY[outcome]
            # Each commit counts it up, so no step was done twice.
            assert version == data["version"] == 1 + len(trace)
            assert (data["status"], data["outcome"], data["active_path"]) == ("DONE", outcome, f"/{outcome}")
            assert data["customer"] == CUSTOMER
            outcomes[outcome] += 1
            steps.update(entry["worker"].split(":")[0] for entry in trace)
        data, version = self.rows("SELECT data::json, version FROM executions WHERE id = 'warehouse'")[0]
        assert data["context"]["shipped"] == outcomes["shipped"] == version - 1
        assert self.nothing_is_left()
        assert self.rows("SELECT * FROM harel_dead_letters()") == []
        return steps


@pytest.fixture
def orders(store_dsn: str) -> Iterator[Orders]:
    with psycopg.connect(store_dsn, autocommit=True) as session:
        yield Orders(session)


@pytest.fixture
def busy(store_dsn: str) -> Iterator["psycopg.Connection[Any]"]:
    """Another session, in a transaction: what it locks holds up whoever is about to commit."""
    with psycopg.connect(store_dsn) as session:
        yield session


def lock(busy: "psycopg.Connection[Any]", id: str) -> None:
    busy.execute("SELECT FROM executions WHERE id = %s FOR UPDATE", [id])


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_killed_worker_loses_no_order_and_repeats_no_step(
    start: Start, orders: Orders, busy: "psycopg.Connection[Any]", language: str
) -> None:
    ids = range(1, 16)
    orders.place(ids)
    lock(busy, "warehouse")
    worker = start(language)
    blocked = until(lambda: worker.is_up() and orders.blocked_by(busy))
    worker.kill()
    # As where its host is gone, too: the commit that it waited for never comes.
    orders.cut(*blocked)
    busy.rollback()
    assert "warehouse" in orders.held_by(worker)
    orders.let_leases_run_out()
    successor = start(language)
    until(lambda: successor.is_up() and orders.ended() == len(ids) and orders.nothing_is_left())
    assert orders.prove(ids).keys() == {language}
    successor.end()


def test_two_languages_share_one_queue(start: Start, orders: Orders) -> None:
    before, after = range(1, 201), range(201, 401)
    workers = {language: start(language) for language in ("node", "python")}
    looks = f"SELECT application_name FROM ({SESSIONS}) s WHERE query ~ 'harel_next|harel_tick'"
    orders.place(range(0))
    until(lambda: all(worker.is_up() for worker in workers.values()) and ("node",) in orders.rows(looks))
    until(lambda: ("python",) in orders.rows(looks))
    orders.place(before)
    until(lambda: orders.ended() > 50)
    killed = workers["node"]
    killed.kill()
    orders.place(after)
    workers["node"] = start("node")

    def all_ended() -> bool:
        orders.let_leases_run_out(killed)
        return all(worker.is_up() for worker in workers.values()) and orders.ended() == after[-1]

    until(all_ended)
    until(orders.nothing_is_left)
    assert orders.prove(range(1, after[-1] + 1)).keys() == {"node", "python"}
    for worker in workers.values():
        worker.end()


@pytest.mark.parametrize("language", CALLING_SQL)
def test_a_step_that_loses_to_another_commit_is_decided_anew(
    start: Start, orders: Orders, busy: "psycopg.Connection[Any]", language: str
) -> None:
    orders.place(range(1, 2))
    data = {"id": "order-1", "definition_id": "order", "status": "PENDING", "customer": CUSTOMER, "note": "of another"}
    busy.execute(ANOTHER_COMMIT, [json.dumps(data)])
    worker = start(language)
    until(lambda: worker.is_up() and orders.blocked_by(busy))
    busy.commit()
    until(lambda: worker.is_up() and orders.ended() == 1)
    assert orders.value("SELECT data::json ->> 'note' FROM executions WHERE id = 'order-1'") == "of another"
    # The other's commit, and one for each step.
    assert orders.value("SELECT version FROM executions WHERE id = 'order-1'") == 5
    trace = [json.loads(entry) for _, entry in orders.rows("SELECT * FROM harel_read_trace('order-1')")]
    assert [[entry["event"], entry["from"], entry["to"]] for entry in trace] == WAY["shipped"]
    # Without this, it would have been given back and delivered again.
    assert worker.said() == ""
    worker.end()


@pytest.mark.parametrize("language", CALLING_SQL)
def test_a_step_is_not_committed_once_its_execution_has_failed(
    start: Start, orders: Orders, busy: "psycopg.Connection[Any]", language: str
) -> None:
    orders.place(range(1, 2))
    busy.execute(ANOTHER_COMMIT, [json.dumps({"id": "order-1", "definition_id": "order", "status": "FAILED"})])
    worker = start(language)
    until(lambda: worker.is_up() and orders.blocked_by(busy))
    busy.commit()
    # Given back, and what becomes of it is the business of whoever claims it next.
    until(lambda: worker.is_up() and orders.nothing_is_left())
    reasons = orders.rows("SELECT reason FROM harel_dead_letters()")
    assert reasons == [("the execution is FAILED",), ("the execution is FAILED",)]
    assert orders.rows("SELECT status, version FROM executions WHERE id = 'order-1'") == [("FAILED", 2)]
    worker.end()


@pytest.mark.parametrize("language", CALLING_SQL)
def test_a_worker_leaves_a_message_whose_lease_is_over_to_others(
    start: Start, orders: Orders, busy: "psycopg.Connection[Any]", language: str
) -> None:
    orders.place(range(1, 5))
    lock(busy, "order-1")
    worker = start(language)
    until(lambda: worker.is_up() and orders.blocked_by(busy))
    busy.execute("UPDATE transport_groups SET available_at = 'Infinity' WHERE group_id = 'order-1'")
    busy.execute("UPDATE transport_groups SET token = gen_random_uuid(), worker = 'another' WHERE group_id = 'order-1'")
    busy.commit()
    until(lambda: worker.is_up() and orders.ended() == 3)
    assert orders.value("SELECT version FROM executions WHERE id = 'order-1'") == 1
    orders.let_leases_run_out()
    until(lambda: worker.is_up() and orders.ended() == 4 and orders.nothing_is_left())
    orders.prove(range(1, 5))
    worker.end()


@pytest.mark.parametrize("language", CALLING_SQL)
def test_what_cannot_be_handled_stops_no_other(start: Start, orders: Orders, language: str) -> None:
    orders.place(range(1, 4))
    for n in range(10, 15):
        orders.save(f"order-{n}", {13: "unknown", 14: "warehouse"}.get(n, "order"))
    orders.publish("order-10", "Place")
    orders.publish("order-11", "Place", id="x" * 1001, data={"pay_until": 1})
    orders.run("SELECT harel_publish('order-12', 'no JSON')")
    orders.publish("order-13", "Place")
    orders.publish("order-14", "Ship")
    # The last delivery before all of them would be dead letters.
    orders.run("UPDATE transport_groups SET attempts = 19")
    orders.save("order-9", "order")
    orders.publish("order-9", "Place")
    orders.run("UPDATE transport_groups SET attempts = 9 WHERE group_id = 'order-9'")
    later = "SELECT attempts, available_at > extract(epoch FROM now()) + 30 FROM transport_groups WHERE token IS NULL"
    worker = start(language)
    until(lambda: worker.is_up() and orders.ended() == 3 and orders.rows(later) == [(10, True)])
    # What was handled would count as shipped once more.
    orders.publish("warehouse", "Ship", id="order-1:Ship", data={"order": "order-1"})
    until(lambda: worker.is_up() and not orders.rows("SELECT FROM transport_groups WHERE group_id <> 'order-9'"))
    orders.run("DELETE FROM transport_messages")
    orders.run("DELETE FROM transport_groups")
    dead = dict(orders.rows("SELECT group_id, reason FROM harel_dead_letters()"))
    orders.run("DELETE FROM dead_letters")
    assert dead.keys() == {f"order-{n}" for n in range(10, 15)}
    assert "the event id must be a text of 1 to 1000 bytes" in dead["order-11"]
    assert not [reason for reason in dead.values() if reason.startswith("delivered")]
    orders.prove(range(1, 4))
    worker.end()


# Ctrl-C reaches whatever a shell runs, too.
@pytest.mark.parametrize(
    ("language", "number"), [*((name, signal.SIGTERM) for name in CALLING_SQL), ("shell", signal.SIGINT)]
)
def test_a_signal_lets_the_batch_be_finished(
    start: Start, orders: Orders, busy: "psycopg.Connection[Any]", language: str, number: signal.Signals
) -> None:
    orders.place(range(1, 5))
    lock(busy, "order-1")
    worker = start(language)
    until(lambda: worker.is_up() and orders.blocked_by(busy))
    held = orders.held_by(worker)
    worker.ask_to_end(number)
    worker.is_up()
    assert orders.blocked_by(busy)
    busy.rollback()
    worker.has_ended_well()
    assert orders.held_by(worker) == []
    # The signal may come so late that the next batch has begun; that one is finished as well.
    assert orders.rows("SELECT id FROM executions WHERE id = ANY (%s) AND version < 2", held) == []
    assert worker.said() == ""


@pytest.mark.parametrize("language", CALLING_SQL)
def test_a_lost_connection_is_made_again(
    start: Start, orders: Orders, busy: "psycopg.Connection[Any]", language: str
) -> None:
    orders.place(range(1, 5))
    lock(busy, "order-1")
    worker = start(language)
    until(lambda: worker.is_up() and orders.blocked_by(busy))
    sessions = orders.rows(f"SELECT pid FROM ({SESSIONS}) s WHERE application_name = %s", language)
    orders.cut(*(pid for (pid,) in sessions))
    busy.rollback()
    orders.let_leases_run_out()
    until(lambda: worker.is_up() and orders.ended() == 4 and orders.nothing_is_left())
    orders.prove(range(1, 5))
    # Go's database/sql sends the call again on a new connection, and says nothing.
    assert language == "go" or "once more in a second" in worker.said()
    worker.end()


@pytest.mark.parametrize("language", [name for name in CALLING_SQL if name != "shell"])
def test_a_message_wakes_a_worker(start: Start, orders: Orders, language: str) -> None:
    asleep = f"SELECT FROM ({SESSIONS}) s WHERE application_name = %s AND state = 'idle' AND query ~ 'harel_tick'"
    worker = start(language)

    def took(n: int) -> float:
        """How many seconds another order takes."""
        until(lambda: worker.is_up() and orders.rows(asleep, language))
        begun = time.monotonic()
        orders.place(range(n, n + 1))
        until(lambda: orders.ended() == n)
        return time.monotonic() - begun

    # It would have slept for a second each time.
    assert any(took(n) < 0.5 for n in range(1, 11))
    worker.end(signal.SIGINT)


def ends_with(language: str, dsn: str | None) -> tuple[int, str]:
    """The exit code of a worker that cannot work, and its only line."""
    done = subprocess.run(
        command(language),
        cwd=EXAMPLES / language,
        env=environment(dsn),
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return done.returncode, line


@pytest.mark.parametrize("language", CALLING_SQL)
def test_a_worker_that_cannot_work_says_why(dsn: str, server: tuple[str, int], language: str) -> None:
    for nothing in (None, ""):
        code, said = ends_with(language, nothing)
        assert (code, said.startswith("HAREL_DSN is not set")) == (2, True)
    prefix = "jdbc:" if language == "java" else ""
    for wrong in (
        "nonsense",
        f"{prefix}postgresql://me:s3cret@127.0.0.1:port/x",
        uri(language, dsn, "127.0.0.1", 1, ""),
    ):
        code, said = ends_with(language, wrong)
        assert code in (1, 2)
        assert re.match("the database says: .+|HAREL_DSN is not set to a JDBC URL", said)
        assert "s3cret" not in said
    assert ends_with(language, uri(language, dsn, *server, "")) == (
        1,
        "there is no harel in this database: CREATE EXTENSION harel",
    )


def test_the_java_worker_runs_from_its_source(dsn: str, server: tuple[str, int]) -> None:
    command("java")
    from_source = ["java", "-cp", ":".join(map(str, JARS)), "Worker.java"]
    done = subprocess.run(
        from_source,
        cwd=EXAMPLES / "java",
        env=environment(uri("java", dsn, *server, "")),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (1, "there is no harel in this database: CREATE EXTENSION harel\n")


def test_the_lock_file_of_node_names_no_host() -> None:
    assert "://" not in (EXAMPLES / "node" / "package-lock.json").read_text()


def blocks(page: Path, language: str) -> list[str]:
    found = re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)
    assert found, f"{page} has no block of {language}"
    return found


@pytest.mark.parametrize(
    ("language", "file"),
    [
        ("js", "node/worker.js"),
        ("java", "java/Worker.java"),
        ("ruby", "ruby/worker.rb"),
        ("go", "go/harel.go"),
        ("bash", "shell/worker.sh"),
    ],
)
@pytest.mark.page("docs/how-to/other-languages.md", "bash")
def test_the_page_on_other_languages_quotes_the_examples(language: str, file: str) -> None:
    example = (EXAMPLES / file).read_text()
    for block in blocks(PAGE, language):
        assert block in example


@pytest.mark.page("docs/how-to/other-languages.md", "sql")
def test_the_sql_of_the_page_on_other_languages_runs(store_dsn: str) -> None:
    refused, transaction = blocks(PAGE, "sql")
    with psycopg.connect(store_dsn, autocommit=True) as session:
        notices: list[str] = []
        session.add_notice_handler(lambda notice: notices.append(str(notice.message_primary)))
        session.execute(refused)
        assert notices == ["refused: the group id must be a text of 1 to 1000 bytes"]
        session.execute(transaction)
        assert session.execute("SELECT event FROM transport_messages").fetchall() == [
            ('{"id": "payment-1", "kind": "Paid"}',)
        ]


@pytest.mark.page("docs/examples/README.md", "sql")
def test_the_order_of_the_readme_goes_its_way(start: Start, orders: Orders) -> None:
    readme = EXAMPLES / "README.md"
    (order,) = blocks(readme, "sql")
    orders.run(order)
    worker = start("python")
    until(lambda: worker.is_up() and orders.ended() == 1 and orders.nothing_is_left())
    trace = [json.loads(entry) for _, entry in orders.rows("SELECT * FROM harel_read_trace('order-1')")]
    assert [[entry["event"], entry["from"], entry["to"]] for entry in trace] == WAY["shipped"]
    worker.end()
    # Every file is in its table.
    for language in LANGUAGES:
        assert re.search(rf"\]\({language}/", readme.read_text())
