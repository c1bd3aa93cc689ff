"""Every public function with hostile arguments: it answers or refuses, and nobody else notices."""

import os
import random
from typing import Any

import psycopg
import pytest
from psycopg.pq import DiagnosticField, Format
from values import VALUES, hostile, some
from watch import Watch

from calls import FUNCTIONS, call

# A failure says which it was.
SEED = int(os.environ.get("HAREL_SEED") or random.randrange(2**32))
SIGNATURES = """
    SELECT p.proname, p.proargnames[:p.pronargs], ARRAY(
        SELECT format_type(a.type, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS a (type, place) ORDER BY a.place
    )
    FROM pg_proc p
    WHERE p.pronamespace = 'public'::regnamespace AND p.proname ~ '^harel_[^_]'
"""


def signatures(session: "psycopg.Connection[Any]") -> dict[str, dict[str, str]]:
    """Of each public function the types of its arguments, by name."""
    return {
        name: dict(zip(arguments or [], types, strict=True)) for name, arguments, types in session.execute(SIGNATURES)
    }


@pytest.fixture
def types(request: pytest.FixtureRequest, postgresql: "psycopg.Connection[Any]") -> dict[str, str]:
    return signatures(postgresql)[request.getfixturevalue("name")]


def test_every_argument_of_every_public_function_is_reached(postgresql: "psycopg.Connection[Any]") -> None:
    found = signatures(postgresql)
    assert {name: set(types) for name, types in found.items()} == {
        name: set(function.arguments) for name, function in FUNCTIONS.items()
    }
    assert {kind for types in found.values() for kind in types.values()} <= set(VALUES)


def test_the_good_calls_are_accepted(postgresql: "psycopg.Connection[Any]") -> None:
    watch = Watch(postgresql)
    # Of one into which others' tables are adopted nothing else may be there, and here is no cluster to spread it over.
    names = set(FUNCTIONS) - {"harel_adopt", "harel_distribute"}
    for name in names:
        watch.try_out(name, {})
    assert not watch.faults, "\n".join(watch.faults)
    assert watch.accepted == len(names)


@pytest.mark.parametrize("name", [name for name, function in FUNCTIONS.items() if function.arguments])
def test_each_argument_may_be_anything(postgresql: "psycopg.Connection[Any]", name: str, types: dict[str, str]) -> None:
    watch = Watch(postgresql)
    for argument, kind in types.items():
        for value in hostile(argument, kind):
            watch.try_out(name, {argument: value})
    assert not watch.faults, "\n".join(watch.faults[:20])


def random_calls(session: "psycopg.Connection[Any]", seed: int, count: int) -> None:
    watch = Watch(session)
    for name, types in sorted(signatures(session).items()):
        for arguments in some(seed, types, count):
            watch.try_out(name, arguments)
    assert not watch.faults, "\n".join([f"HAREL_SEED={seed}", *watch.faults[:20]])


def test_several_arguments_at_once_may_be_anything(postgresql: "psycopg.Connection[Any]") -> None:
    random_calls(postgresql, SEED, 8)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(8))
def test_many_choices_of_arguments(postgresql: "psycopg.Connection[Any]", part: int) -> None:
    random_calls(postgresql, SEED + part, 150)


@pytest.mark.parametrize("value", [b"a\0b", b"\0", b"\xff", b"\xed\xa0\x80", b"\xc0\x80"], ids=repr)
def test_bytes_that_are_no_text_reach_no_function(postgresql: "psycopg.Connection[Any]", value: bytes) -> None:
    """As they come from a driver that does not look at them itself."""
    reached = 0
    for name, types in signatures(postgresql).items():
        for argument in [argument for argument, kind in types.items() if kind == "text"]:
            statement = call(name, {**FUNCTIONS[name].arguments, argument: "?"}).as_bytes(postgresql)
            result = postgresql.pgconn.exec_params(
                statement.replace(b"'?'", b"$1"), [value], param_formats=[Format.BINARY]
            )
            assert result.error_field(DiagnosticField.SQLSTATE) == b"22021", f"{name}({argument})"
            assert b"PL/pgSQL" not in (result.error_field(DiagnosticField.CONTEXT) or b"")
            postgresql.rollback()
            reached += 1
    assert reached > 40
    assert postgresql.execute("SELECT harel_load('e')").fetchone() == (None,)
