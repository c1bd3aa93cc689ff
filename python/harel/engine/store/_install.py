"""How a client finds the store in a database, and the statement that creates it where there is none. No I/O."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from ._base import StoreNotInstalled, StoreVersionMismatch
from ._calls import Call, Row, function_prefix, scalar

# The store that this client brings, and the one that it can talk to: any of the same major version.
VERSION = "1.1"
PREVIOUS = "1.0"

# The schema of the store: the one asked for, or the first in the search path, or that of the extension.
_FIND = """
SELECT n.nspname
FROM pg_catalog.pg_proc p
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
LEFT JOIN pg_catalog.pg_extension e ON e.extname = 'harel' AND e.extnamespace = n.oid
WHERE p.proname = 'harel_version' AND p.pronargs = 0
    AND CASE
        WHEN %s::text IS NULL THEN pg_catalog.pg_function_is_visible(p.oid) OR e.oid IS NOT NULL
        ELSE n.nspname = %s::text
    END
ORDER BY pg_catalog.pg_function_is_visible(p.oid) DESC
LIMIT 1
"""


def find_store(schema: str | None) -> Call[str | None]:
    """The call that gives the schema of the store, or None where there is none."""
    return Call(_FIND, (schema, schema), lambda rows: rows[0][0] if rows else None)


def create_store(schema: str | None) -> Call[None]:
    """The call that creates the store in a schema (None: the current one) unless it is there."""
    return Call(install_script(schema), None, _nothing)


def find_version(schema: str) -> Call[str]:
    """The call that gives the version of the store in a schema."""
    return Call(f"SELECT {function_prefix(schema)}version()", (), scalar)


def not_installed(schema: str | None) -> StoreNotInstalled:
    place = "in this database" if schema is None else f"in schema {schema!r}"
    return StoreNotInstalled(f"there is no harel store {place}: run CREATE EXTENSION harel, or pass create_schema=True")


def names_commits(version: str) -> bool:
    """Whether a store of that version knows a commit again by its id."""
    return version != "1.0"


def check_version(version: str) -> None:
    """Raises StoreVersionMismatch unless this client can talk to a store of that version."""
    if version.split(".")[0] != VERSION.split(".")[0]:
        raise StoreVersionMismatch(
            f"the store in the database has version {version} and this client is made for {VERSION}: update the older"
        )


def install_script(schema: str | None = None) -> str:
    """One SQL statement that creates the store in a schema, for any client of PostgreSQL to run.

    It takes the extension where the server offers it, and otherwise creates the same objects directly. Where the store
    exists it does nothing. `schema` is created if need be; None is the first schema of the search path.
    Raises ValueError for a schema name with a quote, backslash or dollar sign, which no extension can be created in,
    and for one that is empty or longer than 63 bytes.
    """
    return _statement("install.sql", schema, f"harel--{VERSION}.sql")


def upgrade_script(schema: str | None = None) -> str:
    """One SQL statement that brings the store in a schema to the version of this client, for its owner to run.

    It updates the extension, or replaces the objects of a store that was created directly. Where the store is of that
    version it does nothing. `schema` None is the first store in the search path. Raises as install_script() does.
    """
    return _statement("upgrade.sql", schema, f"harel--{PREVIOUS}--{VERSION}.sql")


def check_schema_name(schema: str | None) -> None:
    """Raises ValueError for a name that no store can be created in."""
    if schema is None:
        return
    if any(c in schema for c in "\"'$\\\0"):
        raise ValueError(f"the schema name {schema!r} has a quote, a backslash, a dollar sign or a NUL")
    if not 0 < len(schema.encode(errors="replace")) < 64:
        raise ValueError(f"the schema name {schema!r} does not have 1 to 63 bytes")


def _statement(template: str, schema: str | None, script: str) -> str:
    check_schema_name(schema)
    lines = extension_folder().joinpath(script).read_text().splitlines(keepends=True)
    return (
        files(__package__)
        .joinpath(template)
        .read_text()
        .replace("{schema}", _dollar_quoted(schema or ""))
        .replace("{version}", _dollar_quoted(VERSION))
        .replace("{previous}", _dollar_quoted(PREVIOUS))
        .replace("{script}", _dollar_quoted("".join(line for line in lines if not line.startswith("\\"))))
    )


def extension_folder() -> Traversable:
    """The folder named `extension` that holds the control file and the SQL of the extension."""
    packaged = files(__name__.partition(".")[0]).joinpath("extension")
    if packaged.is_dir():
        return packaged
    # In a checkout the package stands beside it.
    return Path(__file__).resolve().parents[4] / "extension"


def _dollar_quoted(text: str) -> str:
    tag, n = "$harel$", 0
    while tag in text:
        n += 1
        tag = f"$harel{n}$"
    return f"{tag}{text}{tag}"


def _nothing(rows: list[Row]) -> Any:
    return None
