"""The way from the last version of the store to this one: the same objects in the end, and not a row changed."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from test_install import INVENTORY, TABLES, extension_schema, fill, inventory, name_of, opened, query, role  # noqa: F401

from harel import install_script, upgrade_script
from harel.engine.store import _install

EXTENSION = Path(__file__).parents[2] / "extension"
RELEASED = {"harel--1.0.sql": "cd852aa12f69d7c451ce7910ef5d40f5661ea13c111cd48c09b3827c699b27d4"}

MEMBERS = """
    SELECT pg_describe_object(d.classid, d.objid, d.objsubid)
    FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
    WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'harel'
    ORDER BY 1
"""
DUMPED = """
    SELECT t.relation::regclass::text, t.condition FROM pg_extension e,
    LATERAL unnest(e.extconfig, e.extcondition) AS t (relation, condition) WHERE e.extname = 'harel' ORDER BY 1
"""


ADDED = {"outbox": ["version", "ord"], "spawns": ["version", "ord"]}


def old_store_by_script(dsn: str, schema: str) -> None:
    """Creates a store of the last version without the extension, as its client did."""
    script = (EXTENSION / f"harel--{_install.PREVIOUS}.sql").read_text()
    statements = "".join(line for line in script.splitlines(keepends=True) if not line.startswith("\\"))
    query(dsn, f"CREATE SCHEMA {schema}")
    with psycopg.connect(dsn) as session:
        session.execute(statements.replace("@extschema@", schema).encode())


def contents(dsn: str, schema: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row but for the columns that were added, which are NULL or in ADDED, and where the sequences stand."""
    rows = {}
    for table in TABLES:
        row = "jsonb_strip_nulls(to_jsonb(t)) - %s::text[]"
        rows[table] = query(dsn, f"SELECT ({row})::text FROM {schema}.{table} t ORDER BY 1", ADDED.get(table, []))
    for sequence in ("outbox_seq_seq", "spawns_seq_seq"):
        rows[sequence] = query(dsn, f"SELECT last_value, is_called FROM {schema}.{sequence}")
    return rows


@pytest.mark.parametrize("script", RELEASED)
def test_a_released_script_is_never_changed(script: str) -> None:
    assert hashlib.sha256((EXTENSION / script).read_bytes()).hexdigest() == RELEASED[script]


def test_an_upgraded_extension_has_the_objects_of_a_fresh_one(dsn: str) -> None:
    query(dsn, "CREATE SCHEMA store")
    query(dsn, f"CREATE EXTENSION harel SCHEMA store VERSION '{_install.PREVIOUS}'")
    with opened("sync", dsn, schema="store") as store:
        fill(store)
    before = contents(dsn, "store")
    query(dsn, "ALTER EXTENSION harel UPDATE")
    upgraded = inventory(dsn, "store"), query(dsn, MEMBERS), query(dsn, DUMPED)
    assert contents(dsn, "store") == before
    with opened("sync", dsn, schema="store") as store:
        fill(store, "two")
    query(dsn, "DROP EXTENSION harel CASCADE")
    query(dsn, "CREATE EXTENSION harel SCHEMA store")
    fresh = inventory(dsn, "store"), query(dsn, MEMBERS), query(dsn, DUMPED)
    assert set(upgraded[0]) == set(INVENTORY)
    for kind, objects in fresh[0].items():
        assert upgraded[0][kind] == objects
    assert upgraded[1:] == fresh[1:]


@pytest.mark.parametrize("again", [False, True], ids=["once", "twice"])
def test_an_upgraded_script_has_the_objects_of_a_fresh_one(dsn: str, again: bool) -> None:
    old_store_by_script(dsn, "old_one")
    with opened("sync", dsn, schema="old_one") as store:
        fill(store)
    before = contents(dsn, "old_one")
    query(dsn, upgrade_script("old_one"))
    if again:
        # As if it had come no further than to the version.
        query(dsn, "CREATE OR REPLACE FUNCTION old_one.harel_version() RETURNS text LANGUAGE sql AS 'SELECT ''1.0'''")
        query(dsn, upgrade_script("old_one"))
    assert contents(dsn, "old_one") == before
    query(dsn, install_script("new_one"))
    upgraded, fresh = inventory(dsn, "old_one"), inventory(dsn, "new_one")
    for kind, objects in fresh.items():
        assert upgraded[kind] == objects


def test_the_script_updates_an_extension_and_does_nothing_to_what_is_current(dsn: str) -> None:
    query(dsn, f"CREATE EXTENSION harel VERSION '{_install.PREVIOUS}'")
    for _ in range(2):
        query(dsn, upgrade_script())
        assert query(dsn, "SELECT harel_version(), extversion FROM pg_extension WHERE extname = 'harel'") == [
            (_install.VERSION, _install.VERSION)
        ]


def test_there_is_nothing_to_upgrade_where_there_is_no_store(dsn: str) -> None:
    for schema in (None, "nowhere"):
        with pytest.raises(psycopg.errors.UndefinedFunction, match="there is no store to upgrade"):
            query(dsn, upgrade_script(schema))


def test_scripts_leave_the_search_path_of_the_transaction_that_they_run_in(dsn: str) -> None:
    with psycopg.connect(dsn) as session:
        session.execute("SET LOCAL search_path = information_schema, public")
        session.execute(install_script("one").encode())
        assert session.execute("SHOW search_path").fetchone() == ("information_schema, public",)
    old_store_by_script(dsn, "two")
    with psycopg.connect(dsn) as session:
        session.execute("SET LOCAL search_path = information_schema, public")
        session.execute(upgrade_script("two").encode())
        assert session.execute("SHOW search_path").fetchone() == ("information_schema, public",)


def test_who_was_let_in_stays_let_in(dsn: str, role: Callable[[], str]) -> None:  # noqa: F811
    worker, reader, stranger = role(), role(), role()
    query(dsn, "CREATE SCHEMA store")
    query(dsn, f"CREATE EXTENSION harel SCHEMA store VERSION '{_install.PREVIOUS}'")
    query(dsn, "SELECT store.harel_grant(%s)", name_of(worker))
    query(dsn, "SELECT store.harel_grant(%s, 'reader')", name_of(reader))
    query(dsn, "ALTER EXTENSION harel UPDATE")
    assert query(worker, "SELECT store.harel_purge_finished(0)") == [(0,)]
    for let_in in (worker, reader):
        assert query(let_in, "SELECT executions FROM store.harel_stats()") == [({},)]
    for shut_out, call in ((reader, "store.harel_purge_finished(0)"), (stranger, "store.harel_stats()")):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            query(shut_out, f"SELECT {call}")
    assert extension_schema(dsn) == "store"
