"""On a server where nobody is superuser and no files can be put: what a role needs for each way to a store."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from filled import contents, fill, works_on
from psycopg.conninfo import make_conninfo

from cluster import execute as rows
from harel import PostgresStore, install_script, upgrade_script
from harel.embedded import EmbeddedServer

ROOT = Path(__file__).parents[2]
SQL = ROOT / "tests/sql"


def run(*command: object, cwd: Path | None = None) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def role(dsn: str) -> Iterator[str]:
    """The DSN of a role that has no rights but those that PUBLIC has."""
    name = f"harel_{uuid4().hex}"
    rows(dsn, f"CREATE ROLE {name} LOGIN PASSWORD 'secret'")
    yield make_conninfo(dsn, user=name, password="secret")
    rows(dsn, f"DROP OWNED BY {name} CASCADE; DROP ROLE {name}")


def name_of(dsn: str) -> str:
    return str(rows(dsn, "SELECT current_user")[0][0])


# The extension, where the server offers it, and the script


@pytest.mark.parametrize("way", ["extension", "script"])
def test_whoever_owns_a_schema_can_have_a_store_in_it_either_way(dsn: str, role: str, way: str) -> None:
    rows(dsn, f"CREATE SCHEMA harel AUTHORIZATION {name_of(role)}")
    if way == "extension":
        rows(role, "CREATE EXTENSION harel SCHEMA harel")
    else:
        # A database holds an extension once, and the script takes it where it can.
        rows(dsn, "CREATE SCHEMA taken")
        rows(dsn, "CREATE EXTENSION harel SCHEMA taken")
        rows(role, install_script("harel"))
    assert rows(dsn, "SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'harel'") == [
        ("harel" if way == "extension" else "taken",)
    ]
    works_on(role, fill(role, "harel"), "harel")


def test_the_script_makes_the_schema_where_the_role_may(dsn: str, role: str) -> None:
    refused = pytest.raises(psycopg.errors.InsufficientPrivilege)
    with refused:
        rows(role, install_script("harel"))
    rows(dsn, f"GRANT CREATE ON DATABASE {rows(dsn, 'SELECT current_database()')[0][0]} TO {name_of(role)}")
    rows(role, install_script("harel"))
    works_on(role, fill(role, "harel"), "harel")


# pg_tle


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make tle` writes."""
    copy = tmp_path_factory.mktemp("copy")
    run("cp", "-r", ROOT / "extension", ROOT / "Makefile", copy)
    run("make", "tle", cwd=copy)
    return copy / "build"


@pytest.mark.parametrize("version", ["1.1", "1.0--1.1"])
def test_a_script_for_pg_tle_holds_that_of_the_extension_without_the_line_of_psql(scripts: Path, version: str) -> None:
    _, held, rest = (scripts / f"harel--{version}.tle.sql").read_text().split("$_pgtle_$")
    whole = (ROOT / f"extension/harel--{version}.sql").read_text()
    assert held.removeprefix("\n") == re.sub(r"^\\echo .*\\quit\n", "", whole)
    assert rest.startswith(");\n")


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    """A server with pg_tle, which offers harel in no other way."""
    programs = os.environ.get("HAREL_PG_TLE_BIN")
    if programs is None:
        pytest.skip("HAREL_PG_TLE_BIN names no programs of a server with pg_tle, and without the files of harel")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HAREL_PG_BIN", programs)
        server = EmbeddedServer(settings={"fsync": "off", "shared_preload_libraries": "pg_tle"})
    with server:
        if int(rows(server.dsn, "SHOW server_version_num")[0][0]) >= 180000:
            rows(server.dsn, "ALTER SYSTEM SET extension_control_path = '$system'")
            rows(server.dsn, "SELECT pg_reload_conf()")
        rows(server.dsn, "CREATE ROLE owner LOGIN")
        yield server


@pytest.fixture
def database(server: EmbeddedServer) -> Callable[[], tuple[str, str]]:
    """Makes databases with pg_tle, and a schema of the role `owner`; gives its DSN and that of a superuser."""

    def make() -> tuple[str, str]:
        name = f"harel_{uuid4().hex}"
        rows(server.dsn, f"CREATE DATABASE {name}")
        admin = make_conninfo(server.dsn, dbname=name)
        rows(admin, "CREATE EXTENSION pg_tle")
        rows(admin, "GRANT pgtle_admin TO owner")
        rows(admin, "CREATE SCHEMA harel AUTHORIZATION owner")
        return make_conninfo(admin, user="owner"), admin

    return make


def psql(server: EmbeddedServer, dsn: str, *files: Path) -> None:
    for file in files:
        run(server.bin / "psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", f"--file={file}", dsn)


def test_a_store_by_pg_tle_works_and_the_client_finds_it(
    server: EmbeddedServer, database: Callable[[], tuple[str, str]], scripts: Path
) -> None:
    owner, _ = database()
    psql(server, owner, scripts / "harel--1.1.tle.sql")
    rows(owner, "CREATE EXTENSION harel SCHEMA harel")
    works_on(owner, fill(owner, "harel"), "harel")
    store = PostgresStore.from_dsn(owner)
    assert store.list_executions().items
    store.close()
    assert rows(owner, "SELECT count(*) FROM pg_proc WHERE proname = 'harel_version'") == [(1,)]


@pytest.mark.parametrize("folder", ["commit", "finish", "grant", "protect", "purge_finished", "stats"])
def test_the_tests_in_sql_hold(
    server: EmbeddedServer, database: Callable[[], tuple[str, str]], scripts: Path, folder: str
) -> None:
    owner, admin = database()
    psql(server, owner, scripts / "harel--1.1.tle.sql")
    rows(admin, "CREATE EXTENSION harel SCHEMA public")
    files = sorted((SQL / folder).glob("*.sql"))
    assert files
    for file in files:
        with psycopg.connect(admin) as session:
            # As tests/sql does: the first column of every row is TAP.
            session.execute((SQL / "tap.sql").read_bytes())
            session.execute("SET LOCAL search_path = public, tap")
            cursor = session.execute(file.read_bytes())
            lines = []
            while True:
                lines += [str(row[0]) for row in cursor] if cursor.description else []
                if not cursor.nextset():
                    break
            session.rollback()
        assert any(line.startswith("ok ") for line in lines), file
        assert [line for line in lines if line.startswith("not ok")] == [], file


@pytest.mark.parametrize("how", ["statement", "client"])
def test_a_store_by_pg_tle_is_upgraded_with_its_rows(
    server: EmbeddedServer, database: Callable[[], tuple[str, str]], scripts: Path, how: str
) -> None:
    owner, _ = database()
    old = re.sub(r"^\\echo .*\\quit\n", "", (ROOT / "extension/harel--1.0.sql").read_text())
    rows(owner, "SELECT pgtle.install_extension('harel', '1.0', 'the store', %s)", old)
    rows(owner, "CREATE EXTENSION harel SCHEMA harel")
    rows(owner, "SELECT harel.harel_commit_cas('one', 'd', '{}', 0)")
    psql(server, owner, scripts / "harel--1.0--1.1.tle.sql")
    rows(owner, "ALTER EXTENSION harel UPDATE" if how == "statement" else upgrade_script("harel"))
    assert rows(owner, "SELECT harel.harel_version(), extversion FROM pg_extension WHERE extname = 'harel'") == [
        ("1.1", "1.1")
    ]
    assert rows(owner, "SELECT id, version FROM harel.harel_list()") == [("one", 1)]


def test_a_dump_of_a_store_by_pg_tle_brings_it_to_a_server_that_has_pg_tle(
    server: EmbeddedServer, database: Callable[[], tuple[str, str]], scripts: Path, tmp_path: Path
) -> None:
    owner, admin = database()
    psql(server, owner, scripts / "harel--1.1.tle.sql")
    rows(owner, "CREATE EXTENSION harel SCHEMA harel")
    lease = fill(owner, "harel")
    name = f"harel_{uuid4().hex}"
    rows(server.dsn, f"CREATE DATABASE {name}")
    target = make_conninfo(server.dsn, dbname=name)
    run(server.bin / "pg_dump", "--format=custom", f"--file={tmp_path / 'dump'}", admin)
    run(server.bin / "pg_restore", "--exit-on-error", f"--dbname={target}", tmp_path / "dump")
    assert contents(target, "harel") == contents(owner, "harel")
    works_on(target, lease, "harel")
