"""What harel_health() says of the server, on one where it can be brought about."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from harel import Problem
from harel.embedded import EmbeddedServer

TEN_MINUTES = 600


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    settings = {"max_prepared_transactions": "2", "synchronous_commit": "off", "autovacuum": "off", "fsync": "on"}
    with EmbeddedServer(settings=settings) as server:
        with psycopg.connect(server.dsn) as session:
            session.execute("CREATE EXTENSION harel")
        yield server


@pytest.fixture
def session(server: EmbeddedServer) -> Iterator["psycopg.Connection[Any]"]:
    with psycopg.connect(server.dsn, autocommit=True) as session:
        yield session


def found(session: "psycopg.Connection[Any]", later: int = 0) -> list[Problem]:
    """What is wrong, so many seconds from now."""
    rows = session.execute(
        "SELECT problem, detail, remedy FROM harel_health(p_now => extract(epoch FROM now())::float8 + %s)", (later,)
    )
    return [Problem(*row) for row in rows]


def the_one(problems: list[Problem], words: str) -> Problem:
    (problem,) = [problem for problem in problems if words in problem.problem]
    return problem


def test_settings_that_lose_commits_or_stop_autovacuum(session: "psycopg.Connection[Any]") -> None:
    assert found(session) == [
        Problem(
            "a commit that was acknowledged can be lost when the server crashes",
            "synchronous_commit is off.",
            "Set synchronous_commit = on.",
        ),
        Problem(
            "autovacuum is switched off",
            "autovacuum is off.",
            "Set autovacuum = on: tables grow and plans age without it.",
        ),
    ]


def test_a_snapshot_that_is_held_for_long(session: "psycopg.Connection[Any]", server: EmbeddedServer) -> None:
    with psycopg.connect(server.dsn, application_name="a report") as other:
        other.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        other.execute("SELECT FROM executions")
        assert "snapshot" not in str(found(session))
        problem = the_one(found(session, TEN_MINUTES), "snapshot")
        pid = other.info.backend_pid
        assert f"Process {pid} of postgres (a report), idle in transaction" in problem.detail
        assert problem.remedy == f"End what it does, or: SELECT pg_terminate_backend({pid});"
    assert "snapshot" not in str(found(session, TEN_MINUTES))


def test_a_prepared_transaction_that_was_left_behind(session: "psycopg.Connection[Any]") -> None:
    session.execute("BEGIN")
    session.execute("SELECT harel_commit_cas('e', 'd', '{}', 0)")
    session.execute("PREPARE TRANSACTION 'it''s'")
    try:
        assert "prepared" not in str(found(session))
        problem = the_one(found(session, TEN_MINUTES), "prepared transaction")
        assert "Transaction 'it''s' of postgres" in problem.detail
        assert problem.remedy.startswith("COMMIT PREPARED 'it''s' or ROLLBACK PREPARED 'it''s'")
    finally:
        session.execute("ROLLBACK PREPARED 'it''s'")


def test_a_slot_that_nobody_reads(session: "psycopg.Connection[Any]") -> None:
    session.execute("SELECT pg_create_physical_replication_slot('left_behind', true)")
    try:
        problem = the_one(found(session), "replication slot")
        assert "Slot left_behind keeps" in problem.detail
        assert "pg_drop_replication_slot('left_behind')" in problem.remedy
    finally:
        session.execute("SELECT pg_drop_replication_slot('left_behind')")


def test_a_table_that_is_mostly_dead(session: "psycopg.Connection[Any]") -> None:
    session.execute("INSERT INTO trace SELECT 'e', n, '' FROM generate_series(1, 100001) n")
    session.execute("DELETE FROM trace")
    session.execute("SELECT pg_stat_force_next_flush()" if session.info.server_version >= 150000 else "SELECT 1")
    with psycopg.connect(session.info.dsn, autocommit=True) as other:
        # The counters of a session are sent when it ends, at the latest.
        session.close()
        while not [problem for problem in found(other) if "autovacuum is behind" in problem.problem]:
            other.execute("SELECT pg_stat_clear_snapshot()")
        problem = the_one(found(other), "autovacuum is behind")
        assert "public.trace: 100001 dead and 0 live rows, last vacuumed never." in problem.detail
        assert problem.remedy.startswith("VACUUM public.trace;")
        other.execute("VACUUM trace")
        assert "autovacuum is behind" not in str(found(other))


def test_files_of_another_version(session: "psycopg.Connection[Any]", server: EmbeddedServer) -> None:
    # On older servers the store may have come by script, and there are no files.
    if session.info.server_version < 180000:
        pytest.skip("before PostgreSQL 18 the files lie in a folder that all share")
    control = Path(server.folder / "share/extension/harel.control")
    current = control.read_text()
    control.write_text(current.replace("default_version = '1.1'", "default_version = '1.0'"))
    try:
        problem = the_one(found(session), "files of the extension")
        assert problem.detail == "The store is 1.1, the files are 1.0."
    finally:
        control.write_text(current)
