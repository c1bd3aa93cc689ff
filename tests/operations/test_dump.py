"""A store comes back from a dump: all of it, byte for byte, and it works on."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from filled import contents, fill, works_on
from psycopg import sql
from psycopg.conninfo import make_conninfo

from cluster import execute as rows
from harel import install_script
from harel.embedded import EmbeddedServer


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    """A server whose version is that of the programs at hand."""
    with EmbeddedServer(settings={"fsync": "off"}) as server:
        yield server


@pytest.fixture
def database(server: EmbeddedServer) -> Callable[[], str]:
    """Makes empty databases."""

    def make() -> str:
        name = f"harel_{uuid4().hex}"
        rows(server.dsn, f"CREATE DATABASE {name}")
        return make_conninfo(server.dsn, dbname=name)

    return make


def run(*command: Any) -> None:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def install(dsn: str, schema: str, way: str) -> None:
    """A store as an extension, with the view that protects it, or by the script."""
    if way == "script":
        # The script takes the extension where it can, but a database holds one only once.
        rows(dsn, "CREATE SCHEMA taken")
        rows(dsn, "CREATE EXTENSION harel SCHEMA taken")
        rows(dsn, install_script(schema))
        rows(dsn, "DROP EXTENSION harel")
        rows(dsn, "DROP SCHEMA taken")
        return
    with psycopg.connect(dsn) as session:
        name = sql.Identifier(schema)
        session.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name))
        session.execute(sql.SQL("CREATE EXTENSION harel SCHEMA {}").format(name))
        session.execute(sql.SQL("SELECT {}.harel_protect()").format(name))


def way_of(dsn: str) -> str:
    return "extension" if rows(dsn, "SELECT 1 FROM pg_extension WHERE extname = 'harel'") else "script"


# How a dump is made and restored, by its format.
PLAIN, CUSTOM, PARALLEL = ["--format=plain"], ["--format=custom"], ["--format=directory", "--jobs=2"]


def copy(server: EmbeddedServer, source: str, target: str, file: Path, how: list[str], *options: str) -> None:
    run(server.bin / "pg_dump", *how, *options, f"--file={file}", source)
    if how == PLAIN:
        run(server.bin / "psql", "--no-psqlrc", "--set=ON_ERROR_STOP=1", f"--file={file}", target)
    else:
        run(server.bin / "pg_restore", "--exit-on-error", *how[1:], f"--dbname={target}", file)


@pytest.mark.parametrize("how", [PLAIN, CUSTOM, PARALLEL], ids=["plain", "custom", "parallel"])
@pytest.mark.parametrize(
    ("schema", "way"), [("public", "extension"), ("own", "extension"), ("public", "script"), ("My Store", "script")]
)
def test_a_dump_restores_every_row_and_the_sequences(
    server: EmbeddedServer, database: Callable[[], str], tmp_path: Path, schema: str, way: str, how: list[str]
) -> None:
    source, target = database(), database()
    install(source, schema, way)
    lease = fill(source, schema)
    before = contents(source, schema)
    copy(server, source, target, tmp_path / "dump", how)
    assert way_of(target) == way
    assert contents(target, schema) == before
    works_on(target, lease, schema)


def test_a_dump_of_an_older_version_invents_no_time_for_what_it_did_not_record(
    server: EmbeddedServer, database: Callable[[], str], tmp_path: Path
) -> None:
    source, target = database(), database()
    rows(source, "CREATE EXTENSION harel VERSION '1.0'")
    rows(source, "SELECT harel_append_trace('a', 'old')")
    copy(server, source, target, tmp_path / "dump", CUSTOM)
    rows(target, "SELECT harel_append_trace('a', 'new')")
    assert rows(target, "SELECT entry, at IS NULL FROM harel_timeline('a')") == [("old", True), ("new", False)]


@pytest.mark.parametrize("way", ["extension", "script"])
def test_a_dump_takes_the_rights_along(
    server: EmbeddedServer, database: Callable[[], str], tmp_path: Path, way: str
) -> None:
    source, target, role = database(), database(), f"harel_{uuid4().hex}"
    install(source, "own", way)
    rows(server.dsn, f"CREATE ROLE {role} LOGIN")
    rows(source, "SELECT own.harel_grant(%s)", role)
    lease = fill(source, "own")
    copy(server, source, target, tmp_path / "dump", CUSTOM)
    works_on(make_conninfo(target, user=role), lease, "own")


@pytest.mark.parametrize("way", ["extension", "script"])
def test_a_dump_of_one_schema_with_the_extension_is_complete(
    server: EmbeddedServer, database: Callable[[], str], tmp_path: Path, way: str
) -> None:
    source, target = database(), database()
    install(source, "harel", way)
    lease = fill(source, "harel")
    rows(source, "CREATE TABLE public.other (id integer)")
    extension = ["--extension=harel"] if way == "extension" else []
    copy(server, source, target, tmp_path / "dump", PLAIN, "--schema=harel", *extension)
    assert way_of(target) == way
    assert rows(target, "SELECT to_regclass('public.other')") == [(None,)]
    assert contents(target, "harel") == contents(source, "harel")
    works_on(target, lease, "harel")


def test_a_dump_of_one_schema_has_the_rows_but_not_the_extension(
    server: EmbeddedServer, database: Callable[[], str], tmp_path: Path
) -> None:
    source, target = database(), database()
    install(source, "harel", "extension")
    fill(source, "harel")
    dump = tmp_path / "dump"
    run(server.bin / "pg_dump", "--schema=harel", f"--file={dump}", source)
    assert "COPY harel.executions " in dump.read_text()
    assert "CREATE EXTENSION" not in dump.read_text()
    with pytest.raises(AssertionError, match=r'"harel\.executions" does not exist'):
        run(server.bin / "psql", "--no-psqlrc", "--set=ON_ERROR_STOP=1", f"--file={dump}", target)


@pytest.mark.parametrize(("way", "other"), [("extension", "script"), ("script", "extension"), ("script", "script")])
def test_rows_alone_can_be_restored_into_a_store_that_came_another_way(
    server: EmbeddedServer, database: Callable[[], str], tmp_path: Path, way: str, other: str
) -> None:
    source, target = database(), database()
    install(source, "harel", way)
    install(target, "harel", other)
    lease = fill(source, "harel")
    # The registers of the queue, which the rows of a script's store bring along, may be those of another clock.
    for register in ("floor", "tend_at", "lift_at"):
        rows(source, f"SELECT setval('harel.transport_{register}', 4000000000000000)")
    copy(server, source, target, tmp_path / "dump", CUSTOM, "--data-only", "--schema=harel")
    assert way_of(target) == other
    assert contents(target, "harel") == contents(source, "harel")
    works_on(target, lease, "harel")
