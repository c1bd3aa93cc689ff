"""What the README and the documentation tell people to run."""

import asyncio
import re
import subprocess
from pathlib import Path
from typing import Any

import psycopg
import pytest

from harel import Event, Execution, PostgresStore
from harel.worker import Worker

ROOT = Path(__file__).parents[2]


def blocks(page: str, language: str) -> list[str]:
    found = re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert found, f"{page} has no block of {language}"
    return found


def test_the_sql_of_the_readme_runs(dsn: str) -> None:
    with psycopg.connect(dsn) as session:
        for block in blocks("README.md", "sql"):
            session.execute(block)
        assert session.execute("SELECT group_id FROM transport_groups").fetchall() == [("lamp-1",)]
        (trace,) = session.execute("SELECT entry FROM trace").fetchall()
        assert trace == ('{"from": "/paying", "to": "/shipping"}',)
        assert session.execute("SELECT harel_ack_outbox(seq) FROM harel_pending_outbox(100)").fetchall() == [(1,), (1,)]


def test_the_python_of_the_readme_runs(dsn: str) -> None:
    client, machine = (block.replace("postgresql://localhost/app", dsn) for block in blocks("README.md", "python"))
    names: dict[str, Any] = {}
    exec(compile(client, "README.md", "exec"), names)
    names["store"].close()
    exec(compile(machine, "README.md", "exec"), names)
    assert names["lamp"](Execution(definition_id="lamp"), Event(kind="Press")).trace == {"to": "/on"}
    with psycopg.connect(dsn) as session:
        assert session.execute("SELECT id, version, active_path FROM executions").fetchall() == [
            ("order-2", 2, "/shipping")
        ]


def test_the_sql_of_the_installation_page_runs(dsn: str) -> None:
    create, grant, publication, sequences, drop = blocks("docs/how-to/install.md", "sql")
    with psycopg.connect(dsn) as session:
        session.execute(create)
        session.execute("CREATE ROLE order_workers; CREATE ROLE dashboard; CREATE ROLE former_worker")
        session.execute(grant)
        session.execute("SET ROLE dashboard")
        assert session.execute("SELECT count(*) FROM harel.harel_list()").fetchone() == (0,)
        session.execute("RESET ROLE")
        session.execute(publication)
        published = session.execute("SELECT count(*) FROM pg_publication_tables WHERE schemaname = 'harel'").fetchone()
        assert published == session.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'harel'").fetchone()
        assert session.execute(sequences).fetchone() == (0,)
        with pytest.raises(psycopg.errors.DependentObjectsStillExist) as refused, session.transaction():
            session.execute("DROP EXTENSION harel")
        page = (ROOT / "docs/how-to/install.md").read_text()
        assert f"    ERROR:  {refused.value.diag.message_primary}\n" in page
        assert f"    DETAIL:  {refused.value.diag.message_detail}\n" in page
        session.execute("DROP PUBLICATION harel")
        session.execute(drop)
        assert session.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'harel'").fetchone() == (0,)
        # The roles are the server's and not the database's.
        session.rollback()


def test_the_python_of_the_installation_page_runs(dsn: str) -> None:
    (block,) = blocks("docs/how-to/install.md", "python")
    names: dict[str, Any] = {"PostgresStore": PostgresStore}
    exec(block.replace("postgresql://localhost:6432/app", dsn), names)
    names["store"].close()


def test_the_page_on_operating_runs(dsn: str) -> None:
    page = "docs/how-to/operate.md"
    purge, archive, _cron, watch, upgrade, indexes, adopt = blocks(page, "sql")
    health, tenants = blocks(page, "python")
    with psycopg.connect(dsn, autocommit=True) as session:
        session.execute("CREATE SCHEMA harel; CREATE EXTENSION harel SCHEMA harel VERSION '1.0'")
        for statement in indexes.split(";")[:-1]:
            session.execute(statement)
        session.execute(upgrade)
        session.execute("SELECT harel.harel_commit('old', 'd', %s, 0, p_trace => 'step')", ['{"status": "DONE"}'])
        session.execute("UPDATE harel.executions SET finished_at = now() - interval '31 days'")
        session.execute(archive)
        assert session.execute("SELECT id, data, trace FROM archive").fetchall() == [
            ("old", '{"status": "DONE"}', ["step"])
        ]
        assert session.execute("SELECT count(*) FROM harel.executions").fetchone() == (0,)
        for block in (purge, watch):
            session.execute(block)
        store = PostgresStore.from_dsn(dsn, schema="harel")
        exec(health, {"store": store})
        store.close()
        session.execute("DROP EXTENSION harel CASCADE; DROP SCHEMA harel")
        session.execute(
            "CREATE TABLE executions (id text, definition_id text, data text, version int);"
            "CREATE TABLE outbox (seq bigserial, target_id text, event text);"
            "CREATE TABLE processed_events (execution_id text, event_id text);"
            "CREATE TABLE timers (execution_id text, path text, fire_at double precision);"
            "CREATE TABLE spawns (seq bigserial, parent_id text, child_id text, root_path text, context text);"
            "CREATE TABLE trace (execution_id text, idx int, entry text);"
            "INSERT INTO executions VALUES ('theirs', 'd', '{}', 3)"
        )
        session.execute(adopt)
        assert session.execute("SELECT id, version FROM harel.executions").fetchall() == [("theirs", 3)]
        # The roles are the server's and not the database's.
        with session.transaction(force_rollback=True):
            session.execute("CREATE ROLE acme_workers; CREATE ROLE globex_workers")
            exec(tenants, {"PostgresStore": PostgresStore, "admin_dsn": dsn, "admin": session})


def test_the_script_without_python(dsn: str) -> None:
    (command,) = re.findall(r"    (sed .*?) \\\n", (ROOT / "docs/how-to/managed.md").read_text())
    script = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    with psycopg.connect(dsn) as session:
        session.execute("CREATE SCHEMA harel")
        session.execute(script)
        assert session.execute("SELECT harel.harel_commit_cas('x', 'd', '{}', 0)").fetchone() == (True,)
        assert session.execute("SELECT count(*) FROM pg_extension WHERE extname = 'harel'").fetchone() == (0,)


def test_the_sql_of_the_page_on_managed_servers_runs(dsn: str) -> None:
    own, create = blocks("docs/how-to/managed.md", "sql")
    with psycopg.connect(dsn) as session:
        session.execute(own)
        session.execute("SET ROLE harel_owner")
        session.execute(create)
        assert session.execute("SELECT count(*) FROM harel.harel_list()").fetchone() == (0,)
        # The roles are the server's and not the database's.
        session.rollback()


def test_the_pages_on_workers_run(dsn: str) -> None:
    page = "docs/how-to/worker.md"
    names: dict[str, Any] = {}
    machines, start, deliver = (block.replace("postgresql://localhost/app", dsn) for block in blocks(page, "python"))
    exec(compile(machines, page, "exec"), names)
    exec(compile(start, page, "exec"), names)
    store = names["store"]

    async def work() -> None:
        worker = Worker(dsn, names["machines"])
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            tasks.create_task(worker.run())
            while worker.tally["finished"] < 3:
                await asyncio.sleep(0.01)
            worker.stop()

    asyncio.run(work())
    assert store.load("order-1").active_path == "/shipping"
    assert store.load("warehouse").context == {"shipped": 1}
    assert store.due_timers(2**40) == []
    store.commit(store.load("order-1"), [(None, Event(kind="Shipped"))])
    with psycopg.connect(dsn) as session:
        for block in blocks(page, "sql"):
            session.execute(block)
        session.rollback()
    exec(compile(deliver, page, "exec"), names)
    assert store.pending_outbox() == []
    store.close()
    names["queue"].close()


def test_the_sql_of_the_page_on_the_console_runs(dsn: str) -> None:
    (grant,) = blocks("docs/how-to/console.md", "sql")
    with psycopg.connect(dsn) as session:
        session.execute("CREATE SCHEMA harel; CREATE EXTENSION harel SCHEMA harel")
        session.execute(grant)
        # The roles are the server's and not the database's.
        session.rollback()
