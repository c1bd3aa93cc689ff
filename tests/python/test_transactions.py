"""A store on a connection of the caller's: in the caller's transaction, or each call in its own."""

from typing import Any

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import dict_row

from harel import Event, Execution, InvalidArgument, StoreConflict, TimerOp


@pytest.fixture
def session(postgresql: "Connection[Any]") -> "Connection[Any]":
    """What another session sees."""
    postgresql.autocommit = True
    postgresql.execute("CREATE TABLE mine (note text)")
    return postgresql


def stored(session: "Connection[Any]") -> dict[str, int]:
    return dict(session.execute("SELECT id, version FROM executions").fetchall())


def status(connection: Any) -> str:
    return connection.info.transaction_status.name


@pytest.mark.parametrize("autocommit", [False, True])
def test_a_call_outside_a_transaction_is_one_of_its_own(
    twin: Any, session: "Connection[Any]", store_dsn: str, autocommit: bool
) -> None:
    connection = twin.connect(store_dsn, autocommit=autocommit)
    store = twin.store(connection)
    exe = Execution(id="x", definition_id="d")
    store.save(exe)
    store.commit(exe, [(None, Event(kind="k"))])
    assert stored(session) == {"x": 2}
    assert store.load("x") == exe
    assert status(connection) == "IDLE"


def test_a_failing_call_outside_a_transaction_leaves_none_open(
    twin: Any, session: "Connection[Any]", store_dsn: str
) -> None:
    connection = twin.connect(store_dsn)
    store = twin.store(connection)
    exe = Execution(id="x", definition_id="d")
    with pytest.raises(InvalidArgument):
        store.commit(exe, [], timers=[TimerOp("snooze", "/p")])
    assert status(connection) == "IDLE"
    assert exe.version == 0
    store.save(exe)
    assert stored(session) == {"x": 1}


def test_a_commit_joins_the_transaction_of_the_caller(twin: Any, session: "Connection[Any]", store_dsn: str) -> None:
    connection = twin.connect(store_dsn)
    store = twin.store(connection)
    connection.execute("INSERT INTO mine VALUES ('with it')")
    store.commit(Execution(id="x", definition_id="d"), [(None, Event(kind="k"))])
    assert stored(session) == {}
    connection.commit()
    assert stored(session) == {"x": 1}
    assert session.execute("SELECT count(*) FROM mine, outbox").fetchone() == (1,)


def test_a_commit_is_undone_with_the_transaction_of_the_caller(
    twin: Any, session: "Connection[Any]", store_dsn: str
) -> None:
    connection = twin.connect(store_dsn)
    store = twin.store(connection)
    connection.execute("INSERT INTO mine VALUES ('with it')")
    store.save(Execution(id="x", definition_id="d"))
    connection.rollback()
    assert stored(session) == {}
    assert session.execute("SELECT count(*) FROM mine").fetchone() == (0,)


def test_a_commit_joins_a_transaction_begun_on_an_autocommit_connection(
    twin: Any, session: "Connection[Any]", store_dsn: str
) -> None:
    connection = twin.connect(store_dsn, autocommit=True)
    store = twin.store(connection)
    connection.execute("BEGIN")
    store.save(Execution(id="x", definition_id="d"))
    assert stored(session) == {}
    connection.execute("COMMIT")
    assert stored(session) == {"x": 1}


def test_a_conflict_leaves_the_transaction_of_the_caller_usable(
    twin: Any, session: "Connection[Any]", store_dsn: str
) -> None:
    connection = twin.connect(store_dsn)
    store = twin.store(connection)
    exe = Execution(id="x", definition_id="d")
    store.save(exe)
    stale = exe.model_copy(update={"version": 7})
    connection.execute("INSERT INTO mine VALUES ('with it')")
    for emits in ([], [(None, Event(kind="k"))]):
        with pytest.raises(StoreConflict) as conflict:
            store.commit(stale, emits)
        assert conflict.value.found == 1
    store.save(exe)
    connection.commit()
    assert stored(session) == {"x": 2}
    assert session.execute("SELECT count(*) FROM mine").fetchone() == (1,)


def test_nan_leaves_the_transaction_of_the_caller_usable(twin: Any, session: "Connection[Any]", store_dsn: str) -> None:
    connection = twin.connect(store_dsn)
    store = twin.store(connection)
    connection.execute("INSERT INTO mine VALUES ('with it')")
    with pytest.raises(InvalidArgument):
        store.save(Execution(id="x", definition_id="d", context={"n": float("nan")}))
    connection.commit()
    assert session.execute("SELECT count(*) FROM mine").fetchone() == (1,)


def test_a_savepoint_of_the_caller_contains_a_mistake(twin: Any, session: "Connection[Any]", store_dsn: str) -> None:
    connection = twin.connect(store_dsn)
    store = twin.store(connection)
    connection.execute("INSERT INTO mine VALUES ('with it')")
    connection.execute("SAVEPOINT before")
    with pytest.raises(InvalidArgument):
        store.commit(Execution(id="x", definition_id="d"), [], timers=[TimerOp("snooze", "/p")])
    connection.execute("ROLLBACK TO before")
    store.save(Execution(id="y", definition_id="d"))
    connection.commit()
    assert stored(session) == {"y": 1}


@pytest.mark.parametrize("level", [r"repeatable\ read", "serializable"])
@pytest.mark.parametrize("emits", [[], [(None, Event(kind="k"))]], ids=["fast path", "complex path"])
def test_a_stricter_isolation_level_reports_a_conflict(
    twin: Any, session: "Connection[Any]", store_dsn: str, level: str, emits: Any
) -> None:
    connection = twin.connect(store_dsn, options=f"-c default_transaction_isolation={level}")
    store = twin.store(connection)
    exe = Execution(id="x", definition_id="d")
    store.save(exe)
    connection.execute("SELECT count(*) FROM mine")
    session.execute("SELECT harel_commit_cas('x', 'd', '{}', 1)")
    with pytest.raises(StoreConflict):
        store.commit(exe, emits, "event", [TimerOp("schedule", "/p", 1.0)] if emits else [])
    assert exe.version == 1
    connection.commit()
    counts = (
        "SELECT (SELECT count(*) FROM outbox), (SELECT count(*) FROM timers), (SELECT count(*) FROM processed_events)"
    )
    assert session.execute(counts).fetchone() == (0, 0, 0)
    assert stored(session) == {"x": 2}


def test_rows_of_another_shape_are_understood(twin: Any, session: "Connection[Any]", store_dsn: str) -> None:
    connection = twin.connect(store_dsn, row_factory=dict_row)
    store = twin.store(connection)
    exe = Execution(id="x", definition_id="d")
    store.commit(exe, [(None, Event(kind="k"))], trace={"a": 1})
    assert store.load_for_event("x", "e") == (exe, False)
    assert store.read_trace("x") == [{"a": 1, "index": 0}]
    assert [item.id for item in store.list_executions().items] == ["x"]


def test_closing_a_store_leaves_the_connection_of_the_caller_open(twin: Any, store_dsn: str) -> None:
    connection = twin.connect(store_dsn)
    twin.store(connection).close()
    connection.execute("SELECT 1")


def test_a_connection_that_is_gone_raises_the_error_of_the_driver(
    twin: Any, session: "Connection[Any]", store_dsn: str
) -> None:
    connection = twin.connect(store_dsn)
    store = twin.store(connection)
    exe = Execution(id="x", definition_id="d")
    session.execute("SELECT pg_terminate_backend(%s::integer, 5000)", (connection.info.backend_pid,))
    with pytest.raises(psycopg.OperationalError):
        store.save(exe)
    assert exe.version == 0
