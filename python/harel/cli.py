"""The command line: `harel worker`, `harel replay` and `harel demo`."""

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn
from uuid import uuid4

import psycopg
import typer
from psycopg import sql
from rich.console import Console
from rich.text import Text

from .embedded import EmbeddedServer, EmbeddedServerError
from .engine.store import PostgresStore, StoreError
from .engine.store._connect import parsed
from .replay import COLUMNS, Kill, Log, LogError, ProofFailed, Replay, ReplayError, prove, read_log
from .replay.show import Display, case_to_show
from .wording import printable
from .worker import Machine, Worker

# Exit codes: the database refused or cannot be reached, or the proof failed; and what was asked for makes no sense.
FAILED, BAD_USE = 1, 2

app = typer.Typer(
    help="Statecharts that run on PostgreSQL.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Dsn = Annotated[
    str | None,
    typer.Option(envvar="HAREL_DSN", help="The database, as a libpq connection string or URI.", show_default=False),
]


class OnError(StrEnum):
    """What becomes of an event whose step raises."""

    FAIL = "fail"
    RETRY = "retry"


def _end(code: int, message: str) -> NoReturn:
    Console(stderr=True, highlight=False).print(Text(printable(message), "red"), soft_wrap=True)
    raise typer.Exit(code)


def _checked(dsn: str) -> str:
    try:
        parsed(dsn)
    except psycopg.ProgrammingError as error:
        _end(BAD_USE, str(error))
    return dsn


def _said(error: Exception) -> str:
    """What a database error says, in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _machines(target: str) -> Mapping[str, Machine]:
    module, _, name = target.partition(":")
    if not module or not name:
        _end(BAD_USE, f"{target}: name a module and what it holds, as in package.module:machines")
    sys.path.insert(0, os.getcwd())
    try:
        machines: Any = import_module(module)
    except Exception as error:
        _end(BAD_USE, f"{target}: {module} cannot be imported: {_said(error)}")
    for part in name.split("."):
        if not hasattr(machines, part):
            _end(BAD_USE, f"{target}: {module} has no {name}")
        machines = getattr(machines, part)
    if not isinstance(machines, Mapping) or not machines or not all(map(callable, machines.values())):
        _end(BAD_USE, f"{target} is no mapping of definition ids to machines")
    return machines


@app.command()
def worker(
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:MACHINES",
            help="A mapping of definition ids to machines, and the module that holds it; the current folder counts.",
        ),
    ],
    dsn: Dsn = None,
    schema: Annotated[
        str | None, typer.Option(help="The schema of the store, where it is not found by itself.")
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Messages held at once.")] = 100,
    batch: Annotated[int, typer.Option(min=1, help="Messages claimed or settled by one call at most.")] = 50,
    visibility: Annotated[float, typer.Option(help="Seconds until the messages of a dead worker come back.")] = 30.0,
    on_error: Annotated[OnError, typer.Option(help="Whether a step that raises fails its execution.")] = OnError.FAIL,
    max_attempts: Annotated[int, typer.Option(min=1, help="Deliveries before a message is a dead letter.")] = 20,
    listen: Annotated[bool, typer.Option("--listen/--no-listen", help="Wake up by LISTEN, or only by polling.")] = True,
    pooler: Annotated[
        bool, typer.Option("--pooler", help="The DSN leads to a pooler, such as pgbouncer in transaction mode.")
    ] = False,
) -> None:
    """Runs machines over the queue until SIGTERM or Ctrl-C, which lets it finish what it has begun.

    Without --dsn, libpq's PG* variables name the database.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    # The worker itself says that the database does not answer.
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    dsn, machines = _checked(dsn or ""), _machines(target)
    try:
        it = Worker(
            dsn,
            machines,
            schema=schema,
            concurrency=concurrency,
            batch=batch,
            visibility=visibility,
            on_error=on_error.value,
            max_attempts=max_attempts,
            listen=listen,
            pooler=pooler,
        )
    except ValueError as error:
        _end(BAD_USE, str(error))
    logging.info("worker %s runs %s", it.worker_id, ", ".join(sorted(machines)))
    try:
        asyncio.run(it.run(signals=(signal.SIGTERM, signal.SIGINT)))
    except asyncio.CancelledError:
        _end(FAILED, "interrupted twice: what was in hand comes back when its leases end")
    except (psycopg.Error, StoreError) as error:
        _end(FAILED, _said(error))
    logging.info("worker %s has ended: %s", it.worker_id, dict(it.tally))


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(help=f"An event log: CSV with the columns {','.join(COLUMNS)}, gzip or not.")],
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 4,
    kills: Annotated[int, typer.Option(min=0, help="Workers killed and server crashes, at random moments.")] = 20,
    seed: Annotated[int | None, typer.Option(help="Decides when and who.", show_default="random")] = None,
    dsn: Dsn = None,
) -> None:
    """Sends an event log through the queue while workers are killed and the server crashes, and proves that every
    event was applied once and in order all the same.

    Without --dsn on a server of its own; another server is not crashed, and is left as it was. The exit code is 0 only
    if the proof holds; 2 is a log that cannot be read.
    """
    # Ended in this way too, it leaves no server behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        log = read_log(file)
        with _database(dsn) as (where, schema, server):
            holds = _replay(log, where, schema, server, workers, kills, seed)
    except LogError as error:
        _end(BAD_USE, str(error))
    except (EmbeddedServerError, ReplayError, StoreError, psycopg.Error) as error:
        _end(FAILED, _said(error))
    if not holds:
        _end(FAILED, "the proof does not hold")


@contextmanager
def _database(dsn: str | None) -> Iterator[tuple[str, str | None, EmbeddedServer | None]]:
    """A place for a store: an embedded server, or a schema of its own on another, which is dropped in the end."""
    if not dsn:
        with EmbeddedServer() as server:
            yield server.dsn, None, server
        return
    schema = f"harel_replay_{uuid4().hex[:8]}"
    try:
        yield _checked(dsn), schema, None
    finally:
        with psycopg.connect(dsn) as connection:
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))


def _replay(
    log: Log, dsn: str, schema: str | None, server: EmbeddedServer | None, workers: int, kills: int, seed: int | None
) -> bool:
    console = Console(highlight=False)
    display = Display(console, log)

    def crash() -> None:
        assert server is not None
        display.say("server stopped with -m immediate, as in a crash", "red")
        down = time.monotonic()
        server.stop("immediate")
        server.start()
        display.say(f"server up again after {time.monotonic() - down:.1f} s: the workers reconnect and go on", "green")

    def killed(kill: Kill) -> None:
        display.say(
            f"worker {kill.worker} (pid {kill.pid}) killed, {kill.leases} events in its hands; "
            f"pid {kill.successor} takes its place",
            "magenta",
        )

    # The store is there before the first worker looks for it.
    with psycopg.connect(dsn, autocommit=True) as connection:
        # Distributions add their own number.
        version = (connection.info.parameter_status("server_version") or "").split(" ")[0]
        PostgresStore(connection, schema=schema)
    run = Replay(
        log,
        dsn,
        schema=schema,
        workers=workers,
        kills=kills,
        crash=crash if server else None,
        seed=seed,
        progressed=display.progressed,
        killed=killed,
    )
    console.print(
        Text.assemble(
            (display.printable(log.definition_id), "bold"),
            f": {len(log.cases):,} cases, {log.events:,} events, {workers} worker processes, PostgreSQL {version}"
            f"{' embedded' if server else ''}, seed {run.seed}",
        )
    )
    if server is None:
        console.print("this server is not the replay's own, so it will not be crashed", style="yellow")
    with display.progress():
        replayed = run.run()
    if len(replayed.kills) + replayed.crashes < kills:
        display.say("the log was too short for all kills to come in the middle of the work", "yellow")
    try:
        checks = prove(log, dsn, schema)
    except ProofFailed as failed:
        checks = failed.checks
    display.numbers(
        {
            "cases": f"{len(log.cases):,}",
            "events": f"{log.events:,}",
            "workers killed": f"{len(replayed.kills):,}",
            "events in their hands": f"{sum(kill.leases for kill in replayed.kills):,}",
            "server crashes": f"{replayed.crashes:,}",
            "leases lost": f"{replayed.tally['expired']:,}",
            "conflicts lost": f"{replayed.tally['conflicts']:,}",
            "redeliveries recognised": f"{replayed.tally['repeated']:,}",
            "time": f"{replayed.seconds:.1f} s",
            "events per second": f"{log.events / replayed.seconds:,.0f}",
        }
    )
    display.proof(checks)
    shown = case_to_show(log)
    with psycopg.connect(dsn, autocommit=True) as connection:
        display.trace(shown, PostgresStore(connection, schema=schema).read_trace(shown))
    return all(check.holds for check in checks)


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    help="Shows what harel does, on a server of its own.",
)
def demo(context: typer.Context) -> None:
    """The demo has its own arguments."""
    from .demo import main

    its = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    its.command()(main)
    its(args=context.args, prog_name="harel demo")
