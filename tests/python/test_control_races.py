"""Who suspends or cancels an execution has its children too, also one that is being created at this moment."""

from collections.abc import Iterator
from typing import Any, LiteralString

import psycopg
import pytest
from wire import DEADLINE, Beside

from cluster import SHARDS

CONTROLS = {"suspend": "SUSPENDED", "cancel": "CANCELLED"}
SPAWN: LiteralString = (
    "SELECT harel_commit('p', 'd', '{}', 0, p_spawn_children => '{c}', p_spawn_root_paths => '{r}',"
    " p_spawn_contexts => '{1}')"
)
FINISH: LiteralString = (
    "SELECT f.result FROM transport_groups g, harel_finish('{p}', ARRAY[g.token], '{d}', ARRAY['{}'], '{1}',"
    " p_spawn_commits => '{1}', p_spawn_children => '{c}', p_spawn_root_paths => '{r}', p_spawn_contexts => '{1}') f"
)


@pytest.fixture
def session(store_dsn: str) -> Iterator["psycopg.Connection[Any]"]:
    """A session whose transactions a test ends."""
    with psycopg.connect(store_dsn) as session:
        yield session
        session.rollback()


@pytest.fixture
def other(store_dsn: str) -> Iterator["psycopg.Connection[Any]"]:
    with psycopg.connect(store_dsn, autocommit=True) as other:
        yield other


@pytest.fixture
def beside(store_dsn: str) -> Iterator[Beside]:
    with Beside(store_dsn) as beside:
        yield beside


def statuses(session: "psycopg.Connection[Any]") -> dict[str, str]:
    return dict(session.execute("SELECT id, status FROM executions").fetchall())


@pytest.mark.parametrize("control", CONTROLS)
def test_a_child_that_a_step_creates_meanwhile_is_included(
    session: "psycopg.Connection[Any]", other: "psycopg.Connection[Any]", beside: Beside, control: str
) -> None:
    other.execute("SELECT harel_commit_cas('p', 'd', '{}', 0), harel_publish('p', 'ev')")
    other.execute("SELECT harel_next('w', 60)")
    assert session.execute(FINISH).fetchone() == ("finished",)
    call = beside.blocked(other.execute, f"SELECT harel_{control}('p')")
    session.commit()
    assert call.result(DEADLINE).fetchone() == (True,)
    found = {"p": CONTROLS[control], "c": CONTROLS[control]}
    if SHARDS:
        # The child is still to be made, and who is cancelled has none.
        assert other.execute("SELECT harel_relay_spawns()").fetchone() == (int(control == "suspend"),)
        found = {id: status for id, status in found.items() if id == "p" or control == "suspend"}
    assert statuses(other) == found


@pytest.mark.parametrize("control", CONTROLS)
def test_a_child_that_a_relay_creates_meanwhile_is_included(
    session: "psycopg.Connection[Any]", other: "psycopg.Connection[Any]", beside: Beside, control: str
) -> None:
    other.execute(SPAWN)
    assert session.execute("SELECT harel_relay_spawns()").fetchone() == (1,)
    call = beside.blocked(other.execute, f"SELECT harel_{control}('p')")
    session.commit()
    assert call.result(DEADLINE).fetchone() == (True,)
    assert statuses(other) == {"p": CONTROLS[control], "c": CONTROLS[control]}


@pytest.mark.parametrize("control", CONTROLS)
def test_a_relay_passes_over_a_parent_that_is_being_changed(
    session: "psycopg.Connection[Any]", other: "psycopg.Connection[Any]", control: str
) -> None:
    other.execute(SPAWN)
    session.execute(f"SELECT harel_{control}('p')")
    assert other.execute("SELECT harel_relay_spawns()").fetchone() == (0,)
    session.commit()
    left = 1 if control == "suspend" else 0
    assert other.execute("SELECT harel_relay_spawns()").fetchone() == (left,)
    assert statuses(other) == {"p": CONTROLS[control]} | ({"c": "SUSPENDED"} if left else {})
