"""Behind pgbouncer in transaction mode: many clients over two sessions, each transaction in any of them."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from wire import DEADLINE, KINDS, Proxy, opened, opened_transport, until

from harel import Event, Execution, Status, Step, StoreConflict, TimerOp
from harel.embedded import UNPRIVILEGED_USER
from harel.worker import Worker

CLIENTS = 20
SESSIONS = 2


@pytest.fixture(scope="session")
def pgbouncer() -> str:
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        complain = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        complain("there is no pgbouncer: apt-get install pgbouncer")
    return program


@pytest.fixture
def pooled_dsn(pgbouncer: str, store_dsn: str) -> Iterator[str]:
    """The way through pgbouncer to a fresh database with a store."""
    with TemporaryDirectory(prefix="harel-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        server = {key: value for key, value in conninfo_to_dict(store_dsn).items() if value}
        settings = {
            "listen_addr": "", "listen_port": 6432, "unix_socket_dir": folder, "auth_type": "any",
            "pool_mode": "transaction", "default_pool_size": SESSIONS, "max_client_conn": 1000,
            "logfile": folder / "log",
        }  # fmt: skip
        configuration = folder / "pgbouncer.ini"
        configuration.write_text(
            "[databases]\n* = {}\n[pgbouncer]\n{}\n".format(
                make_conninfo(**server), "\n".join(f"{name} = {value}" for name, value in settings.items())
            )
        )
        configuration.chmod(0o644)
        # It refuses to run as root.
        user = [f"--user={UNPRIVILEGED_USER}"] if os.geteuid() == 0 else []
        process = subprocess.Popen([pgbouncer, "--quiet", *user, configuration])
        try:
            dsn = make_conninfo(host=str(folder), port=6432, user=server["user"], dbname=server["dbname"])
            until(lambda: process.poll() is not None or _answers(dsn))
            assert process.poll() is None, (folder / "log").read_text()
            yield dsn
        finally:
            process.kill()
            process.wait()


def _answers(dsn: str) -> bool:
    with suppress(psycopg.OperationalError), psycopg.connect(dsn):
        return True
    return False


def rows(dsn: str, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn, autocommit=True) as session:
        return session.execute(sql).fetchall()


def all_at_once(number: int, work: Callable[[int], Any]) -> list[Any]:
    with ThreadPoolExecutor(number) as threads:
        return [done.result(4 * DEADLINE) for done in [threads.submit(work, n) for n in range(number)]]


def sessions(dsn: str) -> int:
    """How many sessions of clients the database has."""
    ((count,),) = rows(
        dsn,
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()",
    )
    return int(count)


@pytest.mark.parametrize("kind", KINDS)
def test_stores_of_many_clients_commit_each_step_once(store_dsn: str, pooled_dsn: str, kind: str) -> None:
    before, each, won = sessions(store_dsn), 20, Counter[str]()

    def work(n: int) -> None:
        with opened(kind, pooled_dsn, pooler=True) as store:
            own = Execution(id=f"own {n}", definition_id="d")
            for step in range(each):
                store.commit(
                    own, [("x", Event(kind="Told"))], f"{n} {step}", [TimerOp("schedule", "p", step)], trace={}
                )
                shared = store.load("shared") or Execution(id="shared", definition_id="d")
                with suppress(StoreConflict):
                    store.save(shared)
                    won[f"{n}"] += 1
            assert store.load(own.id) == own
            assert len(store.read_trace(own.id)) == each
            assert store.is_processed(own.id, f"{n} {each - 1}")

    all_at_once(CLIENTS, work)
    assert rows(store_dsn, "SELECT version FROM executions WHERE id = 'shared'") == [(won.total(),)]
    assert rows(store_dsn, "SELECT count(*), min(version) FROM executions WHERE id <> 'shared'") == [(CLIENTS, each)]
    assert rows(store_dsn, "SELECT count(*), count(DISTINCT seq) FROM outbox") == [(CLIENTS * each, CLIENTS * each)]
    # The proof that they shared sessions. Those of the looks before this one may take a moment to end.
    until(lambda: sessions(store_dsn) - before <= SESSIONS)


@pytest.mark.parametrize("kind", KINDS)
def test_transports_of_many_clients_deliver_each_message_once_and_in_order(
    store_dsn: str, pooled_dsn: str, kind: str
) -> None:
    groups = [f"g{n}" for n in range(5)]
    seen: dict[str, list[str]] = {group: [] for group in groups}

    def publish(n: int) -> None:
        with opened_transport(kind, pooled_dsn, pooler=True) as transport:
            for group in groups:
                transport.publish(group, Event(id=f"{group} {n}", kind="Go"))

    def handle(n: int) -> None:
        with opened_transport(kind, pooled_dsn, pooler=True) as transport:
            while rows(store_dsn, "TABLE transport_groups"):
                for lease in transport.claim_many(f"w{n}", 60.0, 2):
                    seen[lease.group_id].append(lease.event.id)
                    assert transport.ack(lease)

    all_at_once(CLIENTS, publish)
    published = rows(store_dsn, "SELECT group_id, event::json->>'id' FROM transport_messages ORDER BY seq")
    all_at_once(CLIENTS, handle)
    assert seen == {group: [id for other, id in published if other == group] for group in groups}
    assert [len(ids) for ids in seen.values()] == [CLIENTS] * len(groups)


def test_workers_fork_join_and_fire_timers(store_dsn: str, pooled_dsn: str) -> None:
    parents = [f"parent {n}" for n in range(20)]

    def machine(exe: Execution, event: Event) -> Step:
        exe.context["seen"] = [*exe.context.get("seen", []), event.kind]
        match event.kind:
            case "Fork":
                return Step(
                    exe,
                    timers=[TimerOp("schedule", "/late", 1.0)],
                    spawns=[(f"{exe.id} child {n}", "/r", {}) for n in range(2)],
                )
            case "Start":
                exe.status = Status.DONE
                return Step(exe, emits=[(exe.parent_id, Event(kind="Finished"))])
        return Step(exe)

    async def work() -> None:
        workers = [Worker(pooled_dsn, {"d": machine}, poll=0.05, visibility=0.5, pooler=True) for _ in range(4)]
        async with asyncio.timeout(DEADLINE), asyncio.TaskGroup() as tasks:
            for worker in workers:
                tasks.create_task(worker.run())
            # Each parent: its fork, its timer, and two children with a start and a word to the parent each.
            while sum(worker.tally["finished"] for worker in workers) < len(parents) * 6:
                await asyncio.sleep(0.01)
            await asyncio.to_thread(until, lambda: sessions(store_dsn) - before <= SESSIONS)
            for worker in workers:
                worker.stop()

    before = sessions(store_dsn)
    with opened("sync", pooled_dsn, pooler=True) as store, ExitStack() as closing:
        transport = closing.enter_context(opened_transport("sync", pooled_dsn, pooler=True))
        for parent in parents:
            store.save(Execution(id=parent, definition_id="d", status=Status.RUNNING))
            transport.send(parent, Event(kind="Fork"))
        asyncio.run(work())
        for parent in parents:
            exe = store.load(parent)
            assert exe is not None
            first, *others = exe.context["seen"]
            assert (first, sorted(others)) == ("Fork", ["Finished", "Finished", "Timeout"])


def test_the_command_has_the_option_too(pooled_dsn: str, tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("from harel import Step\nmachines = {'d': lambda exe, event: Step(exe)}\n")
    command = [sys.executable, "-m", "harel", "worker", "module:machines", "--pooler", "--dsn", pooled_dsn]
    with opened("sync", pooled_dsn, pooler=True) as store, ExitStack() as closing:
        store.save(Execution(id="x", definition_id="d"))
        closing.enter_context(opened_transport("sync", pooled_dsn, pooler=True)).send("x", Event(kind="Go"))
        process = closing.enter_context(subprocess.Popen(command, cwd=tmp_path))
        closing.callback(process.terminate)
        until(lambda: process.poll() is not None or store.load("x").version == 2)
        assert process.poll() is None


@pytest.mark.parametrize("kind", KINDS)
def test_many_clients_set_up_the_store_at_once(store_dsn: str, pooled_dsn: str, kind: str) -> None:
    def work(n: int) -> None:
        with opened(kind, pooled_dsn, schema="own", pooler=True) as store:
            store.save(Execution(definition_id="d"))

    all_at_once(CLIENTS, work)
    assert rows(store_dsn, "SELECT count(*) FROM own.executions") == [(CLIENTS,)]


@pytest.mark.parametrize("pooler", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_prepared_for_a_pooler(store_dsn: str, kind: str, pooler: bool) -> None:
    with Proxy(store_dsn) as proxy, opened(kind, proxy.dsn, pooler=pooler) as store:
        for _ in range(20):
            store.load("nowhere")
        names = {body.split(b"\0", 1)[0] for message, body in proxy.messages if message == "P"}
    assert (names == {b""}) is pooler


@pytest.mark.parametrize("pooler", [True, False])
def test_a_worker_does_not_listen_to_a_pooler(store_dsn: str, pooler: bool) -> None:
    async def work() -> None:
        worker = Worker(proxy.dsn, {}, poll=0.05, pooler=pooler)
        async with asyncio.timeout(DEADLINE), asyncio.TaskGroup() as tasks:
            tasks.create_task(worker.run())
            while not heard(pooler):
                await asyncio.sleep(0.01)
            worker.stop()

    def heard(pooler: bool) -> bool:
        expected, times = ("harel_next", 20) if pooler else ("LISTEN", 1)
        return sum(expected in statement for statement in proxy.statements) >= times

    with Proxy(store_dsn) as proxy:
        asyncio.run(work())
        assert heard(pooler=False) is not pooler
