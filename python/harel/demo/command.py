"""The command: where the demo runs, and what its exit code says."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated
from uuid import uuid4

import psycopg
import typer
from psycopg import sql
from rich.console import Console
from rich.text import Text

from ..embedded import EmbeddedServer, EmbeddedServerError
from ..engine.store import StoreError
from .run import DemoError, Run

ORDERS = 400


@contextmanager
def _run(orders: int, console: Console) -> Iterator[Run]:
    """A run on the server that HAREL_DSN names, in a schema of its own, and otherwise on an embedded one."""
    dsn = os.environ.get("HAREL_DSN")
    if not dsn:
        with EmbeddedServer() as server:
            yield Run(orders, console, server.dsn, server=server)
        return
    schema = f"harel_demo_{uuid4().hex[:8]}"
    try:
        yield Run(orders, console, dsn, schema)
    finally:
        with psycopg.connect(dsn) as connection:
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))


def main(orders: Annotated[int, typer.Option(min=1, max=9999, help="How many orders.")] = ORDERS) -> None:
    """Runs orders through three worker processes while one of them is killed and the server crashes, and proves that
    every event was applied once and in order all the same.

    On a server of its own, or in a schema of its own on the one that HAREL_DSN names. The exit code is 0 only if the
    proof holds.
    """
    # Ended in this way too, the demo leaves no server behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    errors = Console(stderr=True, highlight=False)
    try:
        with _run(orders, Console(highlight=False)) as run:
            holds = run.run()
    except (DemoError, EmbeddedServerError, StoreError, psycopg.Error) as error:
        errors.print(Text(f"{type(error).__name__}: {error}", "red"), soft_wrap=True)
        raise typer.Exit(1) from None
    if not holds:
        errors.print(Text("the proof does not hold", "bold red"))
        raise typer.Exit(1)
