"""The functions of a store by their names, for programs that show what is in it: the command line and the console."""

from datetime import datetime
from typing import Any, cast

import psycopg
from psycopg import sql
from psycopg.adapt import Buffer
from psycopg.rows import dict_row
from psycopg.types.datetime import TimestamptzLoader

from .engine.store._install import check_version, find_store, find_version, not_installed
from .engine.store._session import run_on


class _Moment(TimestamptzLoader):
    """A moment; None for one that datetime does not reach, such as of a year before Christ, which data may name."""

    def load(self, data: Buffer) -> datetime | None:  # type: ignore[override]
        try:
            return super().load(data)
        except psycopg.DataError:
            return None


class Functions:
    """Calls functions of the store on a connection; what they take, return and raise is in their comments.

    schema: where the store is; None: as a client finds it. The connection is best in autocommit.
    Raises StoreNotInstalled where there is no store, and StoreVersionMismatch for one of another major version.
    """

    def __init__(self, connection: "psycopg.Connection[Any]", schema: str | None = None) -> None:
        found = run_on(connection, find_store(schema))
        if found is None:
            raise not_installed(schema)
        check_version(run_on(connection, find_version(found)))
        self.schema = found
        self._connection = connection

    def rows(self, function: str, **arguments: Any) -> list[dict[str, Any]]:
        """The rows that a function returns, by the names of their columns; arguments by name, without the `p_`.

        A time that datetime cannot hold is None.
        """
        call = sql.SQL("SELECT * FROM {}({})").format(
            # In a statement with parameters a percent sign is one only where it is doubled.
            sql.Identifier(self.schema.replace("%", "%%"), f"harel_{function}"),
            sql.SQL(", ").join(
                sql.SQL("{} => {}").format(sql.Identifier(f"p_{name}"), sql.Placeholder(name)) for name in arguments
            ),
        )
        with self._connection.cursor(row_factory=dict_row) as cursor:
            cursor.adapters.register_loader("timestamptz", _Moment)
            return cursor.execute(call, arguments).fetchall()

    def row(self, function: str, **arguments: Any) -> dict[str, Any]:
        """The only row of a function that returns one."""
        (row,) = self.rows(function, **arguments)
        return row

    def value(self, function: str, **arguments: Any) -> Any:
        """What a function of a single value returns."""
        (value,) = self.row(function, **arguments).values()
        return cast(Any, value)
