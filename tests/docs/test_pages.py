"""What the README and the documentation tell people to run."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pages import Page, commands, run_until

from harel import Event, Execution, PostgresStore, Status, Step


@pytest.mark.page("README.md", "sql")
def test_the_sql_of_the_readme_runs(page: Page, dsn: str) -> None:
    with psycopg.connect(dsn) as session:
        for block in page.blocks("sql"):
            session.execute(block)
        assert session.execute("SELECT group_id FROM transport_groups").fetchall() == [("lamp-1",)]
        (trace,) = session.execute("SELECT entry FROM trace").fetchall()
        assert trace == ('{"from": "/paying", "to": "/shipping"}',)
        assert session.execute("SELECT harel_ack_outbox(seq) FROM harel_pending_outbox(100)").fetchall() == [(1,), (1,)]


@pytest.mark.page("README.md", "python")
def test_the_python_of_the_readme_runs(page: Page, dsn: str) -> None:
    client, machine = (block.replace("postgresql://localhost/app", dsn) for block in page.blocks("python"))
    names: dict[str, Any] = {}
    exec(compile(client, "README.md", "exec"), names)
    names["store"].close()
    exec(compile(machine, "README.md", "exec"), names)
    assert names["lamp"](Execution(definition_id="lamp"), Event(kind="Press")).trace == {"to": "/on"}
    with psycopg.connect(dsn) as session:
        assert session.execute("SELECT id, version, active_path FROM executions").fetchall() == [
            ("order-2", 2, "/shipping")
        ]


@pytest.mark.page("docs/index.md", "python", "sql")
def test_the_front_page_runs(page: Page, dsn: str) -> None:
    (machine,) = page.blocks("python")
    (payment,) = page.blocks("sql")
    names: dict[str, Any] = {}
    exec(compile(machine, page.path, "exec"), names)
    with psycopg.connect(dsn, autocommit=True) as session:
        session.execute("CREATE EXTENSION harel; CREATE TABLE payments (id text, amount numeric)")
        session.execute(
            "SELECT harel_commit_cas('order-1', 'order', %s, 0)",
            [Execution(id="order-1", definition_id="order", active_path="/paying").model_dump_json()],
        )
        session.execute(
            "SELECT harel_commit_cas('warehouse', 'warehouse', %s, 0)",
            [Execution(id="warehouse", definition_id="warehouse").model_dump_json()],
        )
        session.execute(payment)
        machines = {**names["machines"], "warehouse": lambda exe, event: Step(exe, trace={"event": event.kind})}
        run_until(dsn, machines, lambda worker: worker.tally["finished"] == 2)
        assert session.execute("SELECT active_path FROM harel_list()").fetchone() == ("/shipping",)
        assert session.execute("SELECT entry FROM harel_read_trace('warehouse')").fetchall() == [('{"event":"Ship"}',)]


@pytest.mark.page("docs/how-to/install.md", "sql")
def test_the_sql_of_the_installation_page_runs(page: Page, dsn: str) -> None:
    create, grant, drop = page.blocks("sql")
    with psycopg.connect(dsn) as session:
        session.execute(create)
        session.execute("CREATE ROLE order_workers; CREATE ROLE dashboard; CREATE ROLE former_worker")
        session.execute(grant)
        session.execute("SET ROLE dashboard")
        assert session.execute("SELECT count(*) FROM harel.harel_list()").fetchone() == (0,)
        session.execute("RESET ROLE")
        with pytest.raises(psycopg.errors.DependentObjectsStillExist) as refused, session.transaction():
            session.execute("DROP EXTENSION harel")
        assert f"ERROR:  {refused.value.diag.message_primary}\n" in page.text
        assert f"DETAIL:  {refused.value.diag.message_detail}\n" in page.text
        session.execute(drop)
        assert session.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'harel'").fetchone() == (0,)
        # The roles are the server's and not the database's.
        session.rollback()


@pytest.mark.page("docs/how-to/install.md", "python")
def test_the_python_of_the_installation_page_runs(page: Page, dsn: str) -> None:
    tenants, pooled = page.blocks("python")
    names: dict[str, Any] = {"PostgresStore": PostgresStore, "admin_dsn": dsn}
    exec(pooled.replace("postgresql://localhost:6432/app", dsn), names)
    names["store"].close()
    # The roles are the server's and not the database's.
    with psycopg.connect(dsn, autocommit=True) as session, session.transaction(force_rollback=True):
        session.execute("CREATE ROLE acme_workers; CREATE ROLE globex_workers")
        exec(tenants, {**names, "admin": session})


@pytest.mark.page("docs/how-to/managed.md", "sql")
def test_the_sql_of_the_page_on_managed_servers_runs(page: Page, dsn: str) -> None:
    own, create = page.blocks("sql")
    with psycopg.connect(dsn) as session:
        session.execute(own)
        session.execute("SET ROLE harel_owner")
        session.execute(create)
        assert session.execute("SELECT count(*) FROM harel.harel_list()").fetchone() == (0,)
        # The roles are the server's and not the database's.
        session.rollback()


@pytest.mark.page("docs/how-to/managed.md", "bash")
@pytest.mark.parametrize("by_sed", [False, True])
def test_a_script_of_the_page_on_managed_servers_creates_a_store(
    page: Page, dsn: str, shell: Callable[[str], str], by_sed: bool
) -> None:
    python, sed = page.blocks("bash")
    with psycopg.connect(dsn, autocommit=True) as session:
        # As the page says of the second.
        session.execute("CREATE SCHEMA harel")
        shell(sed if by_sed else python)
        assert session.execute("SELECT harel.harel_commit_cas('x', 'd', '{}', 0)").fetchone() == (True,)


@pytest.mark.page("docs/how-to/backup.md", "bash", "sql")
def test_the_page_on_backups_runs(page: Page, dsn: str, shell: Callable[..., str], tmp_path: Path) -> None:
    publication, sequences = page.blocks("sql")
    (dump,) = page.blocks("bash")
    with psycopg.connect(dsn, autocommit=True) as session:
        session.execute("CREATE SCHEMA harel; CREATE EXTENSION harel SCHEMA harel")
        session.execute("SELECT harel.harel_commit_cas('kept', 'd', '{}', 0)")
        shell(dump.replace(" app ", " "), tmp_path)
        session.execute("DROP EXTENSION harel; DROP SCHEMA harel")
        shell("psql --quiet --set=ON_ERROR_STOP=1 --file=store.sql", tmp_path)
        assert session.execute("SELECT id FROM harel.executions").fetchall() == [("kept",)]
        session.execute(publication)
        published = session.execute("SELECT count(*) FROM pg_publication_tables WHERE schemaname = 'harel'").fetchone()
        assert published == session.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'harel'").fetchone()
        assert session.execute(sequences).fetchone() == (0,)


@pytest.mark.page("docs/how-to/upgrade.md", "sql")
def test_the_sql_of_the_page_on_upgrades_runs(page: Page, dsn: str) -> None:
    upgrade, indexes = page.blocks("sql")
    with psycopg.connect(dsn, autocommit=True) as session:
        session.execute("CREATE SCHEMA harel; CREATE EXTENSION harel SCHEMA harel VERSION '1.0'")
        for statement in indexes.split(";")[:-1]:
            session.execute(statement)
        session.execute(upgrade)
        assert session.execute("SELECT harel.harel_version()").fetchone() == ("1.1",)


@pytest.mark.page("docs/how-to/upgrade.md", "bash")
def test_the_script_of_the_page_on_upgrades_runs(page: Page, dsn: str, shell: Callable[[str], str]) -> None:
    (block,) = page.blocks("bash")
    with psycopg.connect(dsn, autocommit=True) as session:
        session.execute("CREATE SCHEMA harel; CREATE EXTENSION harel SCHEMA harel VERSION '1.0'")
        shell(block)
        assert session.execute("SELECT harel.harel_version()").fetchone() == ("1.1",)


@pytest.mark.page("docs/how-to/retention.md", "sql")
def test_the_page_on_retention_runs(page: Page, dsn: str) -> None:
    # The last is run by tests/operations/test_cron.py, on a server with pg_cron.
    purge, archive, _ = page.blocks("sql")
    with psycopg.connect(dsn, autocommit=True) as session:
        session.execute("CREATE SCHEMA harel; CREATE EXTENSION harel SCHEMA harel")
        session.execute("SELECT harel.harel_commit('old', 'd', %s, 0, p_trace => 'step')", ['{"status": "DONE"}'])
        session.execute("UPDATE harel.executions SET finished_at = now() - interval '31 days'")
        session.execute(archive)
        assert session.execute("SELECT id, data, trace FROM archive").fetchall() == [
            ("old", '{"status": "DONE"}', ["step"])
        ]
        assert session.execute("SELECT count(*) FROM harel.executions").fetchone() == (0,)
        session.execute(purge)


@pytest.mark.page("docs/how-to/operate.md", "python", "sql")
def test_the_page_on_watching_runs(page: Page, dsn: str) -> None:
    (health,) = page.blocks("python")
    with psycopg.connect(dsn, autocommit=True) as session:
        session.execute("CREATE SCHEMA harel; CREATE EXTENSION harel SCHEMA harel")
        for block in page.blocks("sql"):
            session.execute(block)
        store = PostgresStore.from_dsn(dsn, schema="harel")
        exec(health, {"store": store})
        store.close()


@pytest.mark.page("docs/how-to/scale.md", "sql")
def test_the_page_on_scaling_runs(page: Page, dsn: str) -> None:
    hot, purges = page.blocks("sql")
    with psycopg.connect(dsn) as session:
        session.execute("CREATE SCHEMA harel; CREATE EXTENSION harel SCHEMA harel")
        assert len(session.execute(hot).fetchall()) == 1
        session.execute(purges)


@pytest.mark.page("docs/how-to/shards.md", "python", "sql")
def test_the_page_on_shards_runs(page: Page, shard_dsns: list[str]) -> None:
    one, two, *_ = shard_dsns
    start, relay = page.blocks("python")
    look, purge = page.blocks("sql")
    names: dict[str, Any] = {}
    exec(
        compile(start.replace("postgresql://one/app", one).replace("postgresql://two/app", two), page.path, "exec"),
        names,
    )
    exec(compile(relay, page.path, "exec"), names)
    store = names["store"]
    for dsn in (one, two):
        with psycopg.connect(dsn) as session:
            # Moved by the relay, or, where both are on one shard, by a tick of its worker.
            session.execute("SELECT harel_tick()")
            session.execute(look)
            session.execute(purge)
            (mine,) = session.execute("SELECT name FROM harel_shards() WHERE is_here").fetchone() or ()
            groups = {group for (group,) in session.execute("SELECT group_id FROM transport_groups")}
            assert groups == {id for id in ("order-1", "warehouse") if store.shard_of(id) == mine}
    store.close()


@pytest.mark.page("docs/how-to/worker.md", "python", "sql")
def test_the_pages_on_workers_run(page: Page, dsn: str) -> None:
    names: dict[str, Any] = {}
    machines, start, deliver = (block.replace("postgresql://localhost/app", dsn) for block in page.blocks("python"))
    exec(compile(machines, page.path, "exec"), names)
    exec(compile(start, page.path, "exec"), names)
    store = names["store"]
    run_until(dsn, names["machines"], lambda worker: worker.tally["finished"] == 3)
    assert store.load("order-1").active_path == "/shipping"
    assert store.load("warehouse").context == {"shipped": 1}
    assert store.due_timers(2**40) == []
    store.commit(store.load("order-1"), [(None, Event(kind="Shipped"))])
    with psycopg.connect(dsn) as session:
        for block in page.blocks("sql"):
            session.execute(block)
        session.rollback()
    exec(compile(deliver, page.path, "exec"), names)
    assert store.pending_outbox() == []
    store.close()
    names["queue"].close()


@pytest.mark.page("docs/how-to/look.md", "console", "bash", "sql")
def test_the_page_on_looking_into_a_store_runs(page: Page, shell: Callable[..., str], dsn: str, tmp_path: Path) -> None:
    with psycopg.connect(dsn, autocommit=True) as session:
        session.execute("CREATE EXTENSION harel")
        store = PostgresStore(session)
        for number, path in enumerate(("/paying", "/failed"), start=1):
            exe = Execution(id=f"order-{number}", definition_id="order", status=Status.RUNNING, active_path=path)
            store.commit(exe, [], trace={"event": "Place", "from": None, "to": path, "at": 100.0})
        exe.status = Status.FAILED
        store.save(exe)
        overview, one, flow = page.blocks("console")
        doctor, _, running = (shell(command, tmp_path) for command, _ in commands(overview))
        assert "a commit that was acknowledged can be lost" in doctor, "the servers of the tests do without fsync"
        assert "order-1" in running
        shown, trace, _ = (shell(command, tmp_path) for command, _ in commands(one))
        assert "paying" in shown
        assert "Place" in trace
        table, _, mermaid = (shell(command, tmp_path) for command, _ in commands(flow))
        assert "/paying" in table
        assert mermaid.startswith("stateDiagram-v2")
        assert (tmp_path / "order-1.svg").exists()
        assert (tmp_path / "order.svg").exists()
        (script,) = page.blocks("bash")
        failed, waiting = shell(script, tmp_path).split("\n", 1)
        assert failed == "order-2"
        assert '"state": "/paying"' in waiting
        assert waiting.endswith(f"{len(json.loads((tmp_path / 'problems.json').read_text()))} problems\n")
        (queries,) = page.blocks("sql")
        for query in queries.split(";\n"):
            session.execute(query)


@pytest.mark.page("docs/how-to/console.md", "sql")
def test_the_page_on_the_console_runs(page: Page, dsn: str) -> None:
    (grant,) = page.blocks("sql")
    with psycopg.connect(dsn) as session:
        session.execute("CREATE SCHEMA harel; CREATE EXTENSION harel SCHEMA harel")
        session.execute(grant)
        # The roles are the server's and not the database's.
        session.rollback()
