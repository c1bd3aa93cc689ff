"""What all commands share: the database, what they write, and how they end."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from io import TextIOWrapper
from threading import current_thread, main_thread
from types import FrameType
from typing import Annotated, Any, NoReturn
from uuid import uuid4

import psycopg
import typer
from psycopg import sql
from rich import box
from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from ..embedded import EmbeddedServer, EmbeddedServerError
from ..engine.store import StoreError, StoreNotInstalled
from ..engine.store._connect import connect_options, parsed
from ..engine.store._install import check_schema_name
from ..functions import Functions
from ..replay.proof import Check
from ..wording import duration, printable

# Exit codes: see harel --help.
FAILED, BAD_USE, NO = 1, 2, 3

STATUSES = {
    "PENDING": "blue", "RUNNING": "cyan", "DONE": "green", "SUSPENDED": "yellow", "CANCELLING": "yellow",
    "CANCELLED": "bright_black", "FAILED": "bold red",
}  # fmt: skip

Dsn = Annotated[
    str | None,
    typer.Option(
        envvar="HAREL_DSN",
        help="The database, as a libpq connection string or URI. Without it, the PG* variables name it, or a service.",
        show_default=False,
        show_envvar=True,
    ),
]
Schema = Annotated[
    str | None,
    typer.Option(
        callback=lambda name: _checked_schema(name),
        help="The schema of the store, where it is not found by itself.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]
# The greatest `integer` of SQL.
MOST = 2**31 - 1
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=MOST, help="How many to show.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="The id of the execution.")]


class Commands(TyperGroup):
    """Commands whose failures are told in one line, with the remedy."""

    def invoke(self, ctx: Any) -> Any:
        for stream in sys.stdout, sys.stderr:
            # What the terminal has no character for is no reason to show nothing.
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="replace")
        try:
            return super().invoke(ctx)
        except (psycopg.Error, StoreError, EmbeddedServerError) as error:
            end(FAILED, said(error))
        except UnicodeEncodeError:
            # Bytes of an argument, which Python hands on as halves of surrogate pairs.
            end(BAD_USE, "an argument is no text in the encoding of the locale, best UTF-8")

    def main(self, *arguments: Any, **options: Any) -> Any:
        try:
            return super().main(*arguments, **options)
        except OSError as error:
            # Such as a disk that is full of what was written.
            _complain(_line(error))
            sys.exit(FAILED)


def new_app(**options: Any) -> typer.Typer:
    """A command line that writes its errors plainly."""
    return typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, **options)


@contextmanager
def store(dsn: str | None, schema: str | None) -> Iterator[Functions]:
    """The functions of the store in the database that a DSN names."""
    with connection(dsn) as session:
        yield Functions(session, schema)


@contextmanager
def connection(dsn: str | None) -> Iterator["psycopg.Connection[Any]"]:
    """A connection of a command's own, in autocommit."""
    dsn = checked(dsn)
    options = connect_options(dsn)
    if "connect_timeout" not in parsed(dsn) and "PGCONNECT_TIMEOUT" not in os.environ:
        options["connect_timeout"] = 10
    with psycopg.connect(dsn, **options) as session:
        yield session


@contextmanager
def workplace(dsn: str | None, name: str) -> Iterator[tuple[str, str | None, EmbeddedServer | None]]:
    """A place for a store that goes away again: an embedded server, or a schema of its own on another one.

    Gives the DSN, the schema, and the server if it is our own.
    """
    # However it ends, nothing is left behind.
    when_ended(_once)
    signal.signal(signal.SIGINT, _once)
    if not dsn:
        with EmbeddedServer() as server:
            yield server.dsn, None, server
        return
    schema = f"harel_{name}_{uuid4().hex[:8]}"
    # A host that does not answer is found out here.
    with connection(dsn):
        pass
    try:
        with creating():
            yield dsn, schema, None
    finally:
        with connection(dsn) as session:
            session.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))


def _once(number: int, frame: FrameType | None) -> None:
    # A second Ctrl-C must not end what cleans up after the first, nor pg_ctl, which inherits this.
    for ending in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        signal.signal(ending, signal.SIG_IGN)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(128 + number)


def when_ended(handler: Callable[[int, FrameType | None], object]) -> None:
    """Handles SIGTERM and SIGHUP, of a terminal that is closed, unless they are ignored, as nohup does."""
    sys.unraisablehook = partial(_lost, sys.unraisablehook)
    for number in signal.SIGTERM, signal.SIGHUP:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _lost(others: Callable[["sys.UnraisableHookArgs"], object], lost: "sys.UnraisableHookArgs") -> None:
    # What a signal raises while a destructor runs goes no further, and the command would go on: it is raised again.
    error, arguments = lost.exc_type, lost.exc_value.args if lost.exc_value else ()
    if not issubclass(error, KeyboardInterrupt | SystemExit) or current_thread() is not main_thread():
        others(lost)
        return

    def again(number: int, frame: FrameType | None) -> NoReturn:
        raise error(*arguments)

    signal.signal(signal.SIGALRM, again)
    signal.setitimer(signal.ITIMER_REAL, 0.01)


def checked(dsn: str | None) -> str:
    """A DSN that libpq can read; the empty one stands for what the environment says."""
    try:
        parsed(dsn or "")
    except psycopg.ProgrammingError as error:
        end(BAD_USE, str(error))
    return dsn or ""


def _checked_schema(name: str | None) -> str | None:
    try:
        check_schema_name(name)
    except ValueError as error:
        end(BAD_USE, str(error))
    return name


def said(error: Exception) -> str:
    """An error in one line, with what to do about it."""
    if isinstance(error, StoreNotInstalled):
        return "there is no harel store in this database, or in this schema: create one with harel init"
    if not isinstance(error, psycopg.Error):
        return _line(error)
    diagnosis = error.diag
    if diagnosis.message_primary is None:
        # Not from the server, but about the way to it.
        remedy = "; --dsn, HAREL_DSN or the PG* variables name the database"
        return _line(f"{error}{remedy if isinstance(error, psycopg.OperationalError) else ''}")
    remedy = next((text for kind, text in _REMEDIES.items() if isinstance(error, kind)), diagnosis.message_hint or "")
    return _line(" ".join(_sentence(text) for text in (diagnosis.message_primary, diagnosis.message_detail, remedy)))


_REMEDIES = {
    psycopg.errors.UndefinedFunction: "The store is older than this program: harel init --upgrade updates it.",
    psycopg.errors.InsufficientPrivilege: "The owner of the store lets roles in: SELECT harel_grant('role', 'worker').",
    psycopg.errors.ReadOnlySqlTransaction: (
        "It is a standby, or default_transaction_read_only is on: name a server or a role that may write."
    ),
}


def _sentence(text: str | None) -> str:
    return f"{text}." if text and not text.endswith((".", "?", "!")) else text or ""


@contextmanager
def creating() -> Iterator[None]:
    """What creates a store, for which other rights are needed than for its use."""
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        remedy = "To create a store takes CREATE on the database, or, in a schema that is there, on that: --schema."
        end(FAILED, _line(f"{_sentence(error.diag.message_primary)} {remedy}"))


def _line(message: object) -> str:
    return " ".join(str(message).split())


def end(code: int, message: str) -> NoReturn:
    """Ends with a line on standard error."""
    _complain(message)
    raise typer.Exit(code)


def _complain(message: str) -> None:
    console(stderr=True).print(Text(printable(message), "red"), soft_wrap=True)


def note(message: str) -> None:
    """Says something besides the answer, on standard error."""
    console(stderr=True).print(Text(printable(message), "dim"), soft_wrap=True)


def console(stderr: bool = False) -> Console:
    """Where a command writes. A pipe gets no colours, and lines as long as they are."""
    made = Console(stderr=stderr, highlight=False)
    return made if made.is_terminal else Console(stderr=stderr, highlight=False, width=10_000, no_color=True)


def write_json(document: Any) -> None:
    """Writes a document in one line, times as ISO 8601."""
    # There is none where it was closed.
    everything = sys.stdout is not None and sys.stdout.encoding.lower().startswith("utf")
    print(json.dumps(document, default=_plain, ensure_ascii=not everything), flush=True)


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def table(*titles: str) -> Table:
    """An empty table; a column of figures has a title that begins with >."""
    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for title in titles:
        # An id that is cut off is of no use.
        made.add_column(title.lstrip(">"), justify="right" if title.startswith(">") else "left", overflow="fold")
    return made


def write_rows(
    rows: Sequence[Mapping[str, Any]], as_json: bool, made: Table, cells: Callable[[Any], Sequence[Any]]
) -> None:
    """Writes rows as JSON, or as a table that has these cells of each."""
    if as_json:
        write_json(rows)
        return
    for row in rows:
        made.add_row(*map(cell, cells(row)))
    if rows:
        console().print(made)
    else:
        note("none")


def cell(value: Any) -> RenderableType:
    """A value as it stands in a table."""
    if isinstance(value, Text):
        return value
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return Text("" if value is None else printable(str(value)))


def status(text: str | None) -> Text:
    """A status, coloured."""
    return Text(printable(text or ""), STATUSES.get(text or "", ""))


def moment(at: datetime | None) -> Text:
    """A time of the recent past, as what has gone by since."""
    if at is None:
        return Text("")
    return Text(f"{duration(max(0.0, (datetime.now(UTC) - at).total_seconds()))} ago")


def clock(at: datetime | None) -> Text:
    """A time in the time zone of this machine, to the millisecond."""
    return Text("" if at is None else at.astimezone().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3], "dim")


def seconds(value: float | None) -> str:
    """A duration, or nothing."""
    return "" if value is None else duration(value)


def due(fire_at: float, now: float) -> Text:
    """When a timer is due, or for how long it has been."""
    if fire_at <= now:
        return Text(f"for {duration(now - fire_at)}", "bold red")
    return Text(f"in {duration(fire_at - now)}")


def event_kind(text: str | None) -> str:
    """The kind of an event, or the text itself where it is of another form."""
    try:
        return str(json.loads(text or "")["kind"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return (text or "")[:60]


def proved(checks: Sequence[Check]) -> dict[str, Any]:
    """A proof as a document: whether it holds, and its claims."""
    return {
        "holds": all(check.holds for check in checks),
        "checks": [{**asdict(check), "holds": check.holds} for check in checks],
    }


@contextmanager
def progress(what: str) -> Iterator[Callable[[float], None]]:
    """A bar on standard error while something goes on, where that is a terminal; it is told the share that is done."""
    with _bar(TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda share: bar.update(task, completed=share)


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Something that turns on standard error while something goes on of which nobody knows how long it takes."""
    with spinner() as turning:
        turning.add_task(what, total=None)
        yield


def spinner() -> Progress:
    """For tasks of which nobody knows how long they take."""
    return _bar(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())


def _bar(*columns: ProgressColumn) -> Progress:
    """On a terminal, on standard error, and gone when it is done."""
    shown = console(stderr=True)
    return Progress(*columns, console=shown, disable=not shown.is_terminal, transient=True)
