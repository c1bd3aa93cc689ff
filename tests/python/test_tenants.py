"""Tenants that share a database have a store in a schema each, and see nothing of each other."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg import sql
from test_install import name_of, query, role  # noqa: F401
from wire import KINDS, opened, opened_transport

from harel import Event, Execution

TABLES = (
    "executions", "outbox", "processed_events", "timers", "spawns", "trace", "transport_groups", "transport_messages",
    "dead_letters",
)  # fmt: skip


@pytest.fixture
def tenants(dsn: str, role: Callable[[], str]) -> dict[str, str]:  # noqa: F811
    """The DSN by which a worker of each of two tenants enters the database, by the names of their schemas."""
    workers = {"one": role(), "two": role()}
    for tenant, worker in workers.items():
        with opened("sync", dsn, schema=tenant):
            pass
        query(dsn, f"SELECT {tenant}.harel_grant(%s)", name_of(worker))
    return workers


@pytest.mark.parametrize("kind", KINDS)
def test_each_works_in_its_own_store_with_the_same_ids(tenants: dict[str, str], kind: str) -> None:
    for tenant, worker in tenants.items():
        with (
            opened(kind, worker, schema=tenant, create_schema=False) as store,
            opened_transport(kind, worker, schema=tenant, create_schema=False) as transport,
        ):
            store.commit(Execution(id="order-1", definition_id=tenant), [("order-1", Event(kind=tenant))], "event")
            assert transport.tick().relayed == 1
            (delivery,) = transport.next("w", 30.0, 10)
            assert delivery.lease.event.kind == tenant
            assert delivery.execution is not None
            assert delivery.execution.definition_id == tenant
            assert [item.definition_id for item in store.list_executions().items] == [tenant]
            assert store.stats().executions == {"PENDING": 1}


def test_nothing_of_another_can_be_read_written_or_called(dsn: str, tenants: dict[str, str]) -> None:
    with opened("sync", tenants["two"], schema="two", create_schema=False) as store:
        store.save(Execution(id="secret", definition_id="d"))
    functions = query(
        dsn,
        "SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'two'::regnamespace AND proname ~ '^harel_'",
    )
    assert functions
    with psycopg.connect(tenants["one"], autocommit=True) as stranger:

        def refused(statement: Any) -> bool:
            try:
                stranger.execute(statement)
            except psycopg.errors.InsufficientPrivilege:
                return True
            return False

        for table in TABLES:
            relation = sql.Identifier("two", table)
            assert refused(sql.SQL("SELECT FROM {}").format(relation))
            assert refused(sql.SQL("DELETE FROM {}").format(relation))
        for (function,) in functions:
            name, _, types = function.partition("(")
            nulls = ", ".join(f"NULL::{kind}" for kind in types.rstrip(")").split(",") if kind)
            assert refused(f"SELECT {name}({nulls})"), function
        assert refused("CREATE TABLE two.mine ()")
    assert query(dsn, "SELECT id, version FROM two.executions") == [("secret", 1)]


def test_a_purge_or_a_control_of_all_touches_its_own_store_only(tenants: dict[str, str]) -> None:
    for tenant, worker in tenants.items():
        with opened("sync", worker, schema=tenant, create_schema=False) as store:
            store.save(Execution(id="order-1", definition_id="d"))
    with opened("sync", tenants["one"], schema="one", create_schema=False) as store:
        assert store.cancel_all() == 1
        assert store.purge_finished(0) == 1
    with opened("sync", tenants["two"], schema="two", create_schema=False) as store:
        exe = store.load("order-1")
        assert exe is not None
        assert exe.version == 1
