"""The pages of the SQL reference are those of the extension as it is."""

from typing import Any

import psycopg
import pytest

from generate_reference import pages_of


@pytest.fixture
def in_a_schema(empty_database: "psycopg.Connection[Any]") -> "psycopg.Connection[Any]":
    empty_database.execute("CREATE SCHEMA harel; CREATE EXTENSION harel SCHEMA harel")
    return empty_database


def test_the_pages_are_up_to_date(in_a_schema: "psycopg.Connection[Any]") -> None:
    for path, text in pages_of(in_a_schema).items():
        assert path.read_text() == text, f"{path}: run make generate"
    # The roles are the server's and not the database's.
    in_a_schema.rollback()
