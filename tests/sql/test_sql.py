"""Runs each file under tests/sql/<function>/ as one test, with the subset of pgTAP in tap.sql, and rolls it back.

Those that one_server.py lists have to fail on a store over several nodes.
"""

import re
from pathlib import Path

import psycopg
import pytest
from one_server import DIFFERENT

from cluster import SHARDS, dsn_of

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*/*.sql"))


def run(connection: psycopg.Connection, path: Path) -> list[str]:
    """What the statements of the file print: the first column of every row, by line."""
    lines: list[str] = []
    with connection.cursor() as cursor:
        cursor.execute((HERE / "tap.sql").read_bytes())
        cursor.execute("SET LOCAL search_path = public, tap")
        cursor.execute(path.read_bytes())
        while True:
            if cursor.description:
                lines += [line for row in cursor for line in str(row[0]).splitlines()]
            if not cursor.nextset():
                return lines


def faults(lines: list[str]) -> list[str]:
    """Why the lines are not a complete and successful run of a TAP test; nothing where they are."""
    plans = [int(line[3:]) for line in lines if re.fullmatch(r"1\.\.\d+", line)]
    results = [line for line in lines if re.match(r"(not )?ok \d+", line)]
    failed = [line for line in results if line.startswith("not ")]
    if not plans or not results:
        return ["no plan or no test: the file must begin with plan(n)"]
    found = [f"{len(failed)} of {len(results)} tests failed"] if failed else []
    if plans != [len(results)]:
        found.append(f"planned {plans}, ran {len(results)}")
    return found


def why_not(connection: psycopg.Connection, path: Path) -> str | None:
    """Why the file did not pass; None where it did."""
    name = path.relative_to(HERE)
    try:
        lines = run(connection, path)
    except psycopg.Error as error:
        return f"{name}: {error.sqlstate} {error}"
    finally:
        connection.rollback()
    why = faults(lines)
    return "\n".join([f"{name}: {'; '.join(why)}", *lines]) if why else None


def test_there_are_files() -> None:
    assert FILES
    assert DIFFERENT.keys() <= {path.relative_to(HERE).as_posix() for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_sql(rolled_back: psycopg.Connection, path: Path) -> None:
    different = DIFFERENT.get(path.relative_to(HERE).as_posix()) if SHARDS else None
    if different:
        # In a session of its own: of a statement that it could not plan, Citus (13.2) keeps something in mind.
        with psycopg.connect(dsn_of(rolled_back)) as connection:
            if not why_not(connection, path):
                pytest.fail(f"unexpectedly passes, and is to be taken off the list: {different}", pytrace=False)
        pytest.skip(different)
    if why := why_not(rolled_back, path):
        pytest.fail(why, pytrace=False)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["1..1", "ok 1 - a"], []),
        (["1..2", "ok 1 - a", "not ok 2 - b"], ["1 of 2 tests failed"]),
        (["1..2", "ok 1 - a"], ["planned [2], ran 1"]),
        (["ok 1 - a"], ["no plan or no test: the file must begin with plan(n)"]),
        (["1..0"], ["no plan or no test: the file must begin with plan(n)"]),
    ],
)
def test_a_fault_is_found(lines: list[str], why: list[str]) -> None:
    assert faults(lines) == why
