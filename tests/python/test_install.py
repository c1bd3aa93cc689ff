"""How the store comes into a database, who may use it there, and that it leaves nothing behind."""

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE
from threading import Barrier
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier
from wire import DEADLINE, KINDS, opened

from cluster import execute as query
from harel import (
    AsyncPostgresStore,
    Event,
    Execution,
    ExecutionStore,
    PostgresStore,
    StoreNotInstalled,
    StoreVersionMismatch,
    TimerOp,
    install_script,
)

ROOT = Path(__file__).parents[2]
TABLES = {
    "executions": "id",
    "outbox": "seq",
    "processed_events": "execution_id, event_id",
    "timers": "execution_id, path",
    "spawns": "seq",
    "trace": "execution_id, idx",
}


def extension_schema(dsn: str) -> str | None:
    """The schema of the extension, if it was created."""
    rows = query(dsn, "SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'harel'")
    return str(rows[0][0]) if rows else None


def installed(dsn: str) -> list[str]:
    """The schemas that hold a store."""
    rows = query(
        dsn,
        "SELECT n.nspname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace "
        "WHERE p.proname = 'harel_version' ORDER BY 1",
    )
    return [schema for (schema,) in rows]


def fill(store: ExecutionStore, id: str = "one") -> Execution:
    """A row at least in each table."""
    exe = Execution(id=id, definition_id="orders", context={"text": "a\u00e4\u20ac\U0001f600\n\\"})
    for n in range(3):
        store.commit(
            exe,
            [("other", Event(kind="Asked")), (None, Event(kind="Told"))],
            f"event {n}",
            timers=[TimerOp("schedule", f"path {n}", 1e9 / 3 + n)],
            spawns=[(f"child {n}", "region", {"n": n})],
            trace={"n": n},
        )
    return exe


@pytest.fixture
def role(dsn: str) -> Iterator[Callable[[], str]]:
    """Makes roles without rights, and gives the DSN by which one of them enters the database."""
    names: list[str] = []

    def make() -> str:
        names.append(f"harel_{uuid4().hex}")
        query(dsn, f"CREATE ROLE {names[-1]} LOGIN PASSWORD 'secret'")
        return make_conninfo(dsn, user=names[-1], password="secret")

    yield make
    for name in names:
        query(dsn, f"REASSIGN OWNED BY {name} TO CURRENT_USER")
        query(dsn, f"DROP OWNED BY {name}")
        query(dsn, f"DROP ROLE {name}")


def name_of(dsn: str) -> str:
    """The role that a DSN enters as."""
    return str(query(dsn, "SELECT current_user")[0][0])


# Creating


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_creates_the_extension_where_the_server_offers_it(dsn: str, kind: str) -> None:
    with opened(kind, dsn) as store:
        fill(store)
    assert extension_schema(dsn) == "public"
    assert installed(dsn) == ["public"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_schema_gets_the_store_by_script(dsn: str, kind: str) -> None:
    with opened(kind, dsn, schema="first"), opened(kind, dsn, schema="second") as store:
        exe = fill(store)
        assert store.load(exe.id) == exe
    assert extension_schema(dsn) == "first"
    assert installed(dsn) == ["first", "second"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_role_that_owns_nothing_but_a_schema_can_create_the_store_there(
    dsn: str, role: Callable[[], str], kind: str
) -> None:
    plain = role()
    query(dsn, f"CREATE SCHEMA own AUTHORIZATION {name_of(plain)}")
    with opened(kind, plain, schema="own") as store:
        exe = fill(store)
        assert store.load(exe.id) == exe
    assert installed(dsn) == ["own"]


def offer_no_extension(dsn: str) -> None:
    """Leaves the plain script as the only way to create a store in this database."""
    (version,) = query(dsn, "SELECT current_setting('server_version_num')::integer")[0]
    if version >= 180000:
        name = query(dsn, "SELECT current_database()")[0][0]
        query(dsn, f"ALTER DATABASE {name} SET extension_control_path = '/nonexistent'")
        assert query(dsn, "SELECT FROM pg_available_extensions WHERE name = 'harel'") == []
    else:
        # What is in an older server's folder it offers. A database holds an extension once, though.
        query(dsn, "CREATE SCHEMA taken")
        query(dsn, "CREATE EXTENSION harel SCHEMA taken")


@pytest.mark.parametrize("kind", KINDS)
def test_where_the_extension_is_not_to_be_had_the_store_comes_by_script(dsn: str, kind: str) -> None:
    offer_no_extension(dsn)
    with opened(kind, dsn, schema="own") as store:
        exe = fill(store)
        assert store.load(exe.id) == exe
    assert extension_schema(dsn) != "own"
    assert "own" in installed(dsn)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("schema", [None, "first", "second"])
def test_creating_the_store_again_changes_nothing(dsn: str, kind: str, schema: str | None) -> None:
    with opened(kind, dsn, schema="first"), opened(kind, dsn, schema="second"):
        pass
    search = make_conninfo(dsn, options="-c search_path=second")
    with opened(kind, search, schema=schema) as store:
        exe = fill(store)
    with opened(kind, search, schema=schema) as store:
        assert store.load(exe.id) == exe
    for name in ("first", "second"):
        query(dsn, install_script(name))
    assert installed(dsn) == ["first", "second"]


@pytest.mark.parametrize("schema", [None, "own"])
def test_many_processes_set_up_one_empty_database_at_once(dsn: str, schema: str | None) -> None:
    program = f"""
import asyncio, sys
import psycopg, psycopg_pool
from harel import AsyncPostgresStore, Execution, PostgresStore

async def use_async():
    store = await AsyncPostgresStore.from_dsn(sys.argv[1], schema={schema!r})
    await store.save(Execution(definition_id='orders'))
    await store.close()

def use_sync():
    store = PostgresStore.from_dsn(sys.argv[1], schema={schema!r})
    store.save(Execution(definition_id='orders'))
    store.close()

print('ready', flush=True)
sys.stdin.readline()
use_sync() if sys.argv[2] == "sync" else asyncio.run(use_async())
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", program, dsn, kind], stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True)
        for kind in KINDS * 10
    ]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    # All are at the same point: now.
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    errors = [process.communicate(timeout=DEADLINE)[1] for process in processes]
    assert errors == [""] * len(processes)
    assert [process.returncode for process in processes] == [0] * len(processes)
    assert installed(dsn) == [schema or "public"]
    assert query(dsn, f"SELECT count(*) FROM {schema or 'public'}.executions") == [(len(processes),)]


# Finding


@pytest.mark.parametrize("schema", [None, "own"])
def test_without_leave_to_create_a_missing_store_is_an_error_at_once(dsn: str, schema: str | None) -> None:
    with pytest.raises(StoreNotInstalled), opened("sync", dsn, schema=schema, create_schema=False):
        pass
    with psycopg.connect(dsn) as connection:
        with pytest.raises(StoreNotInstalled):
            PostgresStore(connection, schema=schema, create_schema=False)
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    assert installed(dsn) == []


@pytest.mark.parametrize("schema", [None, "own"])
def test_without_leave_to_create_a_missing_store_is_an_error_of_the_first_asynchronous_call(
    dsn: str, schema: str | None
) -> None:
    async def use() -> None:
        async with await psycopg.AsyncConnection.connect(dsn) as connection:
            store = AsyncPostgresStore(connection, schema=schema, create_schema=False)
            for _ in range(2):
                with pytest.raises(StoreNotInstalled):
                    await store.load("one")

    asyncio.run(use())
    with pytest.raises(StoreNotInstalled), opened("async", dsn, schema=schema, create_schema=False):
        pass
    assert installed(dsn) == []


@pytest.mark.parametrize("by_script", [False, True], ids=["extension", "script"])
@pytest.mark.parametrize("schema", ["My Store", "100 %", "%s", "select", "a.b", "schéma", "Ünï"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_may_have_a_name_that_needs_quoting(dsn: str, kind: str, schema: str, by_script: bool) -> None:
    if by_script:
        with opened(kind, dsn, schema="first"):
            pass
    with opened(kind, dsn, schema=schema) as store:
        exe = fill(store)
        assert store.load(exe.id) == exe
        assert [item.id for item in store.list_executions().items] == [exe.id]
        assert store.read_trace(exe.id)[-1]["n"] == 2
    assert schema in installed(dsn)
    with psycopg.connect(dsn) as session:
        session.execute(SQL("SELECT {}.harel_grant(current_user, 'none')").format(Identifier(schema)))


@pytest.mark.parametrize("schema", ["it's", 'a"b', "a\\b", "a$b", "", "x" * 64])
@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_name_that_no_extension_can_have_is_refused(dsn: str, kind: str, schema: str) -> None:
    with pytest.raises(ValueError, match="the schema name"), opened(kind, dsn, schema=schema):
        pass
    assert installed(dsn) == []


@pytest.mark.parametrize("kind", KINDS)
def test_stores_in_two_schemas_do_not_see_each_other(dsn: str, kind: str) -> None:
    with opened(kind, dsn, schema="first") as first, opened(kind, dsn, schema="second") as second:
        exe = fill(first)
        assert second.load(exe.id) is None
        assert second.list_executions().items == []
        assert second.pending_outbox() == []
        assert second.pending_spawns() == []
        assert second.due_timers(1e12) == []
        assert second.read_trace(exe.id) == []
        other = fill(second)
        assert (exe.version, other.version) == (3, 3)
        first.save(exe)
        assert second.load(exe.id) == other


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("search_path", "found"),
    [
        pytest.param("second, first", "second", id="first of the search path"),
        pytest.param("first, second", "first", id="first of the search path again"),
        pytest.param("pg_catalog", "first", id="extension where the search path has none"),
    ],
)
def test_without_a_schema_the_search_path_and_then_the_extension_has_the_store(
    dsn: str, kind: str, search_path: str, found: str
) -> None:
    with opened(kind, dsn, schema="first"), opened(kind, dsn, schema="second"):
        pass
    with opened(kind, make_conninfo(dsn, options=f"-c search_path={search_path.replace(' ', '')}")) as store:
        store.save(Execution(id="here", definition_id="orders"))
    assert query(dsn, f"SELECT id FROM {found}.executions") == [("here",)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_of_another_major_version_is_refused(store_dsn: str, kind: str) -> None:
    query(
        store_dsn,
        "CREATE OR REPLACE FUNCTION harel_version() RETURNS text LANGUAGE plpgsql IMMUTABLE AS "
        "$$ BEGIN RETURN '2.0'; END $$",
    )
    with pytest.raises(StoreVersionMismatch, match=r"2\.0"), opened(kind, store_dsn):
        pass


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_of_another_minor_version_is_taken(store_dsn: str, kind: str) -> None:
    query(
        store_dsn,
        "CREATE OR REPLACE FUNCTION harel_version() RETURNS text LANGUAGE plpgsql IMMUTABLE AS "
        "$$ BEGIN RETURN '1.7'; END $$",
    )
    with opened(kind, store_dsn) as store:
        assert store.load("nowhere") is None


# The same objects, either way

INVENTORY = {
    "columns": """
        SELECT c.relname, c.relkind, c.reloptions, c.relacl, obj_description(c.oid, 'pg_class'),
            a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, l.collname,
            pg_get_expr(d.adbin, d.adrelid), col_description(c.oid, a.attnum)
        FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
        LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
        LEFT JOIN pg_collation l ON l.oid = a.attcollation
        WHERE c.relnamespace = %(schema)s::regnamespace
        ORDER BY c.relname, a.attnum
    """,
    "constraints": """
        SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid)
        FROM pg_constraint WHERE connamespace = %(schema)s::regnamespace ORDER BY 1, 2
    """,
    "indexes": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = %(schema)s ORDER BY 1, 2",
    "functions": """
        SELECT p.oid::regprocedure::text, pg_get_functiondef(p.oid), p.provolatile, p.proparallel, p.proconfig,
            p.proacl, obj_description(p.oid, 'pg_proc')
        FROM pg_proc p WHERE p.pronamespace = %(schema)s::regnamespace ORDER BY 1
    """,
}


def inventory(dsn: str, schema: str) -> dict[str, list[str]]:
    """Everything in a schema, with its name replaced."""
    with psycopg.connect(dsn) as session:
        return {
            kind: [repr(row).replace(schema, "<schema>") for row in session.execute(sql, {"schema": schema})]
            for kind, sql in INVENTORY.items()
        }


def test_extension_and_script_create_the_same_objects(dsn: str) -> None:
    query(dsn, "CREATE SCHEMA by_extension")
    query(dsn, "CREATE EXTENSION harel SCHEMA by_extension")
    query(dsn, "SELECT by_extension.harel_protect()")
    query(dsn, install_script("by_script"))
    extension, script = inventory(dsn, "by_extension"), inventory(dsn, "by_script")
    for kind, objects in extension.items():
        assert objects
        assert script[kind] == objects
    assert {table for table in TABLES if any(f"'{table}'" in row for row in extension["columns"])} == set(TABLES)


def test_drop_extension_is_refused_while_the_store_is_in_use_and_then_leaves_nothing(dsn: str) -> None:
    with opened("sync", dsn) as store:
        exe = fill(store)
    assert extension_schema(dsn) == "public"
    with pytest.raises(psycopg.errors.DependentObjectsStillExist, match="executions_are_kept depends on"):
        query(dsn, "DROP EXTENSION harel")
    with opened("sync", dsn) as store:
        assert store.load(exe.id) == exe
    query(dsn, "SELECT harel_protect(false)")
    query(dsn, "DROP EXTENSION harel")
    assert installed(dsn) == []
    assert query(dsn, "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace") == []
    assert query(dsn, "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace") == []
    query(dsn, "CREATE EXTENSION harel")
    with opened("sync", dsn) as store:
        assert store.load("one") is None


def test_an_upgrade_protects_a_store_that_others_use(dsn: str, role: Callable[[], str]) -> None:
    query(dsn, "CREATE EXTENSION harel VERSION '1.0'")
    query(dsn, "SELECT harel_grant(%s)", name_of(role()))
    query(dsn, "ALTER EXTENSION harel UPDATE")
    with pytest.raises(psycopg.errors.DependentObjectsStillExist, match="executions_are_kept depends on"):
        query(dsn, "DROP EXTENSION harel")


def test_what_a_superuser_protects_its_owner_can_drop(dsn: str, role: Callable[[], str]) -> None:
    owner = role()
    # Not of a schema of its own, in which it could drop whatever there is.
    query(dsn, "CREATE SCHEMA own")
    query(dsn, f"GRANT CREATE, USAGE ON SCHEMA own TO {name_of(owner)}")
    query(dsn, f"GRANT CREATE ON DATABASE {query(dsn, 'SELECT current_database()')[0][0]} TO {name_of(owner)}")
    query(owner, "CREATE EXTENSION harel SCHEMA own")
    query(dsn, "SELECT own.harel_protect()")
    query(owner, "SELECT own.harel_protect(false)")
    query(owner, "DROP EXTENSION harel")


@pytest.mark.parametrize("clause", ["", "IF NOT EXISTS"])
def test_of_many_who_create_the_extension_at_once_one_does(dsn: str, clause: str) -> None:
    crowd = Barrier(20)

    def create(_: int) -> str | None:
        with psycopg.connect(dsn) as session:
            crowd.wait()
            try:
                session.execute(f"CREATE EXTENSION {clause} harel")
            except psycopg.errors.IntegrityError as error:
                # PostgreSQL itself does not take turns here, whatever the extension.
                return error.diag.constraint_name
            except psycopg.errors.DuplicateObject as error:
                return error.sqlstate
        return None

    with ThreadPoolExecutor(crowd.parties) as threads:
        ends = Counter(threads.map(create, range(crowd.parties)))
    assert ends[None] == 1 if not clause else ends[None] >= 1
    assert set(ends) <= {None, "pg_extension_name_index", "42710"}
    assert installed(dsn) == ["public"]
    with opened("sync", dsn) as store:
        fill(store)


# Roles


@pytest.mark.parametrize("schema", ["public", "own"])
def test_a_plain_role_that_owns_the_database_can_create_use_and_share_the_extension(
    dsn: str, role: Callable[[], str], schema: str
) -> None:
    owner, worker = role(), role()
    database = query(dsn, "SELECT current_database()")[0][0]
    query(dsn, f"ALTER DATABASE {database} OWNER TO {name_of(owner)}")
    if schema != "public":
        query(owner, f"CREATE SCHEMA {schema}")
    query(owner, f"CREATE EXTENSION harel SCHEMA {schema}")
    with opened("sync", owner, schema=schema) as store:
        exe = fill(store)
    with psycopg.connect(owner) as session:
        session.execute(f"SELECT {schema}.harel_grant(%s)", (name_of(worker),))
    with opened("sync", worker, schema=schema) as store:
        assert store.load(exe.id) == exe
        fill(store, "two")
        store.save(exe)
    assert exe.version == 4


@pytest.mark.parametrize("by_script", [False, True], ids=["extension", "script"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_can_use_all_of_the_store(dsn: str, role: Callable[[], str], kind: str, by_script: bool) -> None:
    schema = "second" if by_script else "first"
    with opened(kind, dsn, schema="first"), opened(kind, dsn, schema="second"):
        pass
    worker = role()
    query(dsn, f"SELECT {schema}.harel_grant(%s, 'worker')", name_of(worker))
    with opened(kind, worker, schema=schema, create_schema=False) as store:
        exe = fill(store)
        assert store.load_for_event(exe.id, "event 0") == (exe, True)
        assert len(store.list_executions(definition_id="orders").items) == 1
        assert all(store.ack_outbox(entry.seq) for entry in store.pending_outbox())
        assert all(store.ack_spawn(entry.seq) for entry in store.pending_spawns())
        assert all(store.delete_timer(*timer) for timer in store.due_timers(1e10))
        assert store.append_trace(exe.id, {"n": 3}) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_reader_can_load_and_list_but_not_write(dsn: str, role: Callable[[], str], kind: str) -> None:
    with opened(kind, dsn) as store:
        exe = fill(store)
    reader = role()
    query(dsn, "SELECT harel_grant(%s, 'reader')", name_of(reader))
    with opened(kind, reader) as store:
        assert store.load(exe.id) == exe
        assert store.load_for_event(exe.id, "event 0") == (exe, True)
        assert store.is_processed(exe.id, "event 0")
        assert [item.id for item in store.list_executions(status="PENDING").items] == [exe.id]
        assert [len(rows) for rows in (store.pending_outbox(), store.pending_spawns(), store.read_trace(exe.id))] == [
            6, 3, 3,
        ]  # fmt: skip
        assert len(store.due_timers(1e10)) == 3
        writes: list[Callable[[], Any]] = [
            lambda: store.save(exe),
            lambda: store.commit(exe, [], trace={}),
            lambda: store.ack_outbox(1),
            lambda: store.ack_spawn(1),
            lambda: store.delete_timer(exe.id, "path 0", 1.0),
            lambda: store.append_trace(exe.id, {}),
        ]
        for write in writes:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                write()
        assert exe.version == 3
        assert store.load(exe.id) == exe


@pytest.mark.parametrize("kind", KINDS)
def test_a_role_that_was_not_let_in_can_do_nothing(dsn: str, role: Callable[[], str], kind: str) -> None:
    with opened(kind, dsn):
        pass
    with pytest.raises(psycopg.errors.InsufficientPrivilege), opened(kind, role()):
        pass


def run(*command: Any, **options: Any) -> str:
    done: subprocess.CompletedProcess[str] = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# The package


def test_importing_the_store_does_not_import_psycopg() -> None:
    program = "import sys, harel, harel.engine.store, harel.engine.aio_store; print(*sys.modules)"
    assert [name for name in run(sys.executable, "-c", program).split() if name.startswith("psycopg")] == []


def test_a_store_over_a_connection_of_another_kind_does_not_import_psycopg() -> None:
    program = """
import sys, harel

class Cursor:
    description = [()]
    def execute(self, sql, parameters): self.rows = [("1.0",)]
    def fetchall(self): return self.rows
    def close(self): pass

class Connection:
    def cursor(self): return Cursor()
    def commit(self): pass
    def rollback(self): pass

harel.PostgresStore(Connection())
print(*sys.modules)
"""
    assert [name for name in run(sys.executable, "-c", program).split() if name.startswith("psycopg")] == []
