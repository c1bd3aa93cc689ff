"""A database that the PyPI package harel has used is taken over by one call."""

import subprocess
from pathlib import Path
from typing import Any

import psycopg
import pytest
from test_contract_kit import kit  # noqa: F401
from test_install import TABLES, query
from wire import KINDS, opened

from harel import Event, InvalidArgument, Status

PROGRAM = Path(__file__).with_name("adopted_program.py")
# It gives its tables a prefix.
THEIRS = "public.harel_"
CONTRACT = {
    "executions": "id, definition_id, data, version",
    "outbox": "seq, target_id, event",
    "processed_events": "execution_id, event_id",
    "timers": "execution_id, path, fire_at",
    "spawns": "seq, parent_id, child_id, root_path, context",
    "trace": "execution_id, idx, entry",
}


@pytest.fixture
def used(kit: str, dsn: str) -> str:  # noqa: F811
    """The DSN of a database with the tables of the other program, and rows in each."""
    subprocess.run([kit, "-I", PROGRAM, dsn], check=True, timeout=120)
    return dsn


def rows(dsn: str, place: str, suffix: str = "") -> dict[str, list[tuple[Any, ...]]]:
    """The contract's part of each table, whose names are those of the contract between `place` and `suffix`."""
    return {
        table: query(dsn, f"SELECT {columns} FROM {place}{table}{suffix} ORDER BY 1, 2")
        for table, columns in CONTRACT.items()
    }


@pytest.mark.parametrize("kind", KINDS)
def test_everything_is_there_and_goes_on(used: str, kind: str) -> None:
    before = rows(used, THEIRS)
    assert all(before[table] for table in TABLES if table in CONTRACT)
    (last,) = query(used, "SELECT last_value FROM public.harel_outbox_seq_seq")[0]
    query(used, "CREATE SCHEMA harel")
    query(used, "CREATE EXTENSION harel SCHEMA harel")
    assert query(used, "SELECT harel.harel_adopt('public', 'harel_')") == [(sum(map(len, before.values())),)]
    assert rows(used, "harel.") == before
    assert rows(used, THEIRS, "_adopted") == before
    with opened(kind, used, schema="harel", create_schema=False) as store:
        running = store.list_executions(status=Status.RUNNING)
        assert [item.id for item in running.items] == [f"order-{n}" for n in range(1, 5)]
        exe, processed = store.load_for_event("order-4", "event-4")
        assert exe is not None
        assert (exe.version, processed) == (5, True)
        assert exe.context["text"] == "a\u00e4\u20ac\U0001f600\n\\"
        assert store.commit(exe, [("warehouse", Event(kind="Ship"))], trace={"step": 5}) == [last + 1]
        assert [entry["index"] for entry in store.read_trace("order-4")] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_is_not_put_among_the_tables_of_another_program(used: str, kind: str) -> None:
    before = rows(used, THEIRS)
    with pytest.raises(InvalidArgument) as raised, opened(kind, used) as store:
        store.load("order-1")
    assert raised.value.code == "ST014"
    assert "harel_adopt()" in (raised.value.hint or "")
    assert rows(used, THEIRS) == before


def test_a_row_that_cannot_be_taken_leaves_everything_as_it_was(used: str) -> None:
    query(used, "INSERT INTO public.harel_executions VALUES ('broken', 'd', 'no json', 1)")
    before = rows(used, THEIRS)
    query(used, "CREATE SCHEMA harel")
    query(used, "CREATE EXTENSION harel SCHEMA harel")
    with pytest.raises(psycopg.Error) as raised:
        query(used, "SELECT harel.harel_adopt('public', 'harel_')")
    assert raised.value.sqlstate == "ST003"
    assert rows(used, THEIRS) == before
    assert not any(rows(used, "harel.").values())
