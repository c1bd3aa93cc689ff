"""`python -m harel.demo [LOG]`: replays an event log while a worker is killed and the server crashes, and proves that
every event was applied once and in order all the same.
"""

import csv
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated
from uuid import uuid4

import psycopg
import typer
from psycopg import sql
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from .embedded import EmbeddedServer, EmbeddedServerError
from .engine.store import PostgresStore, StoreError
from .replay import (
    COLUMNS,
    Check,
    Kill,
    Log,
    LogError,
    ProofFailed,
    Replay,
    Replayed,
    ReplayError,
    open_store,
    prove,
    read_log,
)

ORDERS = 500
SEED = 1987
WORKERS = 3

# Shares of the events after which a worker is killed, and the server.
KILL_AT, CRASH_AT = 1 / 3, 2 / 3

# The case shown at the end is the longest that fits on a screen.
_SCREEN = 16

# For each activity the hours until the next one, as a range, and who does it.
_HOURS: dict[str, tuple[float, float]] = {
    "placed": (0.01, 0.1),
    "awaiting payment": (0.2, 60.0),
    "payment failed": (0.01, 0.05),
    "payment retried": (0.5, 30.0),
    "paid": (0.1, 0.9),
    "picked": (0.05, 0.8),
    "packed": (0.2, 0.9),
    "shipped": (20.0, 90.0),
    "delivered": (24.0, 200.0),
    "return requested": (24.0, 120.0),
    "returned": (0.1, 0.9),
}
_RESOURCES: dict[str, Sequence[str]] = {
    "placed": ("web shop", "phone"),
    "picked": ("Ada", "Edsger", "Grace"),
    "packed": ("Ada", "Edsger", "Grace"),
    "shipped": ("north depot", "south depot"),
    "delivered": ("courier 1", "courier 2", "courier 3"),
    "return requested": ("web shop", "phone"),
    "returned": ("north depot", "south depot"),
    "cancelled": ("customer", "support"),
    "refunded": ("accounting",),
}


def write_orders(path: Path, orders: int = ORDERS, seed: int = SEED) -> None:
    """Writes a log of orders, the same for the same seed: 4 to 12 rows each, all of them mixed in order of time."""
    chance = random.Random(seed)
    rows: list[tuple[datetime, str, str, str]] = []
    for number in range(1, orders + 1):
        at = datetime(2024, 3, 1, 8, tzinfo=UTC) + timedelta(minutes=chance.uniform(0, 60 * 24 * 30))
        for activity in _order(chance):
            resource = chance.choice(_RESOURCES.get(activity, ("payments",)))
            rows.append((at, f"order-{number:05}", activity, resource))
            hours = chance.uniform(*_HOURS.get(activity, (0.0, 0.0)))
            at += timedelta(seconds=round(hours * 3600) + 1)
    rows.sort()
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for at, order, activity, resource in rows:
            writer.writerow((order, activity, "", at.isoformat(timespec="seconds"), resource))


def _order(chance: random.Random) -> Iterator[str]:
    """The activities of one order."""
    yield from ("placed", "awaiting payment")
    failures = chance.choices((0, 1, 2), weights=(75, 18, 7))[0]
    for _ in range(failures):
        yield "payment failed"
        if chance.random() < 0.3:
            yield "cancelled"
            return
        yield "payment retried"
    yield "paid"
    if chance.random() < 0.05:
        yield from ("cancelled", "refunded")
        return
    yield from ("picked", "packed", "shipped", "delivered")
    if failures < 2 and chance.random() < 0.12:
        yield from ("return requested", "returned", "refunded")


class _Demo:
    """One run of the demo: a log, a place for it, and a console to tell of it."""

    def __init__(self, console: Console, log: Log, dsn: str, schema: str | None, server: EmbeddedServer | None) -> None:
        self._console = console
        self._log = log
        self._dsn = dsn
        self._schema = schema
        self._server = server
        self._share = 0.0
        utf = console.encoding.startswith("utf")
        self._yes, self._no, self._dot, self._end = ("✓", "✗", "●", "◆") if utf else ("+", "x", "*", "#")

    def run(self) -> bool:
        """Replays, proves and shows. Returns whether the proof holds."""
        with psycopg.connect(self._dsn) as connection:
            # Distributions add their own number.
            version = (connection.info.parameter_status("server_version") or "").split(" ")[0]
        whose = "embedded" if self._server else "at $HAREL_DSN"
        self._console.print(
            Text.assemble(
                (self._log.definition_id, "bold"),
                f": {len(self._log.cases):,} cases, {self._log.events:,} events, {WORKERS} worker processes, "
                f"PostgreSQL {version} {whose}",
            )
        )
        if self._server is None:
            self._console.print("this server is not the demo's own, so it will not be crashed", style="yellow")
        # The store is there before the first worker looks for it.
        open_store(self._dsn, self._schema, create_schema=True).close()
        replayed = self._replay()
        if not replayed.kills:
            self._say("the log was too short for a worker to be killed in the middle of its work", "yellow")
        try:
            checks = prove(self._log, self._dsn, self._schema)
        except ProofFailed as failed:
            checks = failed.checks
        store = open_store(self._dsn, self._schema)
        self._show_numbers(store, replayed)
        self._show_proof(checks)
        self._show_trace(store)
        store.close()
        return all(check.holds for check in checks)

    def _replay(self) -> Replayed:
        progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(None),
            MofNCompleteColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
            expand=True,
        )
        with progress:
            task = progress.add_task("events", total=self._log.events)

            def progressed(events: int) -> None:
                self._share = events / self._log.events
                progress.update(task, completed=events)

            return Replay(
                self._log,
                self._dsn,
                schema=self._schema,
                workers=WORKERS,
                kill_at=[KILL_AT],
                crash_at=[(CRASH_AT, self._crash)] if self._server else [],
                progressed=progressed,
                killed=self._tell_of_kill,
            ).run()

    def _tell_of_kill(self, kill: Kill) -> None:
        self._say(
            f"worker {kill.worker} (pid {kill.pid}) killed with SIGKILL; "
            f"pid {kill.successor} takes its {kill.left} events",
            "magenta",
        )

    def _crash(self) -> None:
        assert self._server is not None
        self._say("server stopped with -m immediate, as in a crash", "red")
        down = time.monotonic()
        self._server.stop("immediate")
        self._server.start()
        self._say(f"server up again after {time.monotonic() - down:.1f} s: the workers reconnect and go on", "green")

    def _say(self, text: str, style: str) -> None:
        self._console.print(Text(f"{self._share:4.0%}  {text}", style))

    def _show_numbers(self, store: PostgresStore, replayed: Replayed) -> None:
        tally = replayed.tally
        commits = _commits(store, self._log.definition_id)
        latency = f"{tally.latency(0.5) * 1000:.1f} / {tally.latency(0.99) * 1000:.1f} ms"
        numbers = {
            "cases": f"{len(self._log.cases):,}",
            "events": f"{self._log.events:,}",
            "commits": f"{commits:,}",
            "conflicts lost": f"{tally.conflicts:,}",
            "redeliveries recognised": f"{tally.recognised:,}",
            "calls repeated after a lost connection": f"{tally.repeated:,}",
            "time": f"{replayed.seconds:.1f} s",
            "commits per second": f"{commits / max(replayed.seconds, 0.001):,.0f}",
            "commit latency, p50 / p99": latency,
        }
        table = Table(box=box.ROUNDED, show_header=False, title="Replay", title_justify="left", title_style="bold")
        table.add_column()
        table.add_column(justify="right", style="cyan")
        for name, number in numbers.items():
            table.add_row(name, number)
        self._console.print("", table)

    def _show_proof(self, checks: list[Check]) -> None:
        table = Table(
            box=box.ROUNDED, show_header=False, title="Proof, a query each", title_justify="left", title_style="bold"
        )
        table.add_column()
        table.add_column()
        table.add_column(justify="right", style="cyan")
        for check in checks:
            mark = Text(self._yes, "bold green") if check.holds else Text(self._no, "bold red")
            claim = Text(check.claim)
            if not check.holds:
                claim.append(f"\n{check.wrong:,} differ, such as {_printable(check.example or '')}", "red")
            table.add_row(mark, claim, f"{check.compared:,}")
        self._console.print("", table)

    def _show_trace(self, store: PostgresStore) -> None:
        case_id = _case_to_show(self._log)
        entries = store.read_trace(case_id)
        times = [datetime.fromisoformat(entry["timestamp"]) for entry in entries]
        title = f"Trace of {_printable(case_id)}"
        table = Table(box=box.ROUNDED, title=title, title_justify="left", title_style="bold")
        table.add_column("time", style="dim", no_wrap=True)
        table.add_column("gap", justify="right", no_wrap=True)
        table.add_column("state", overflow="fold")
        table.add_column("resource", style="dim")
        table.add_column("timer", style="yellow", no_wrap=True)
        for number, (entry, at) in enumerate(zip(entries, times, strict=True)):
            state = Text.assemble((f"{self._dot} ", "cyan"), _printable(entry["to"]))
            if number == len(entries) - 1:
                state = Text.assemble((f"{self._end} ", "green"), (_printable(entry["to"]), "bold green"))
            table.add_row(
                at.strftime("%Y-%m-%d %H:%M:%S"),
                _duration((at - times[number - 1]).total_seconds()) if number else "",
                state,
                Text(_printable(entry["resource"])),
                "armed" if "timer" in entry else "",
            )
        self._console.print("", table)


def _commits(store: PostgresStore, definition_id: str) -> int:
    """The number of commits that the executions of a definition have seen."""
    commits, cursor = 0, None
    while True:
        page = store.list_executions(definition_id=definition_id, limit=1000, cursor=cursor)
        commits += sum(item.version for item in page.items)
        cursor = page.next_cursor
        if cursor is None:
            return commits


def _case_to_show(log: Log) -> str:
    """The longest case that fits on a screen; the shortest where none does."""
    lengths = {case_id: len(rows) for case_id, rows in log.cases.items()}
    fitting = {case_id: length for case_id, length in lengths.items() if length <= _SCREEN}
    return max(fitting, key=fitting.__getitem__) if fitting else min(lengths, key=lengths.__getitem__)


def _duration(seconds: float) -> str:
    """Seconds in the unit that a reader would choose."""
    for unit, length in ("d", 86400), ("h", 3600), ("min", 60):
        if abs(seconds) >= length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"


def _printable(text: str) -> str:
    """The text without what would move a terminal's cursor or change its colours."""
    return "".join(c if c.isprintable() else "?" for c in text)


@contextmanager
def _log(path: Path | None) -> Iterator[Log]:
    """The log of a file, or one of generated orders. Raises LogError."""
    if path is not None:
        yield read_log(path)
        return
    with tempfile.TemporaryDirectory(prefix="harel-") as folder:
        path = Path(folder) / "orders.csv"
        write_orders(path)
        yield read_log(path)


@contextmanager
def _demo(console: Console, log: Log) -> Iterator[_Demo]:
    """The demo on the server that HAREL_DSN names, in a schema of its own, and otherwise on an embedded one."""
    dsn = os.environ.get("HAREL_DSN")
    if not dsn:
        with EmbeddedServer() as server:
            yield _Demo(console, log, server.dsn, None, server)
        return
    schema = f"harel_demo_{uuid4().hex[:8]}"
    try:
        yield _Demo(console, log, dsn, schema, None)
    finally:
        with psycopg.connect(dsn) as connection:
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))


def main(
    log: Annotated[
        Path | None,
        typer.Argument(
            help=f"An event log: CSV with the columns {','.join(COLUMNS)}, gzip or not.",
            show_default=f"{ORDERS} generated orders",
        ),
    ] = None,
) -> None:
    """Replays an event log through harel while a worker is killed and the server crashes, and proves that every event
    was applied once and in order all the same.

    The exit code is 0 only if the proof holds; 2 is a log that cannot be read.
    """
    # Ended in this way too, the demo leaves no server behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    console = Console(highlight=False)
    errors = Console(stderr=True, highlight=False)
    try:
        with _log(log) as read, _demo(console, read) as demo:
            holds = demo.run()
    except LogError as error:
        errors.print(Text(_printable(str(error)), "red"), soft_wrap=True)
        raise typer.Exit(2) from None
    except (EmbeddedServerError, ReplayError, StoreError, psycopg.Error) as error:
        errors.print(Text(f"{type(error).__name__}: {error}", "red"), soft_wrap=True)
        raise typer.Exit(1) from None
    if not holds:
        errors.print(Text("the proof does not hold", "bold red"))
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
