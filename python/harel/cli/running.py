"""Commands that run something: a server, workers, and what shows that they can be relied on."""

import asyncio
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import psycopg
import typer
from rich.console import Console
from rich.text import Text

from ..benchmark import Measurement, measured
from ..demo.run import DemoError, Run
from ..embedded import EmbeddedServer
from ..engine.store import PostgresStore, ShardedStore, StoreError
from ..engine.store._install import VERSION, create_store, find_store, find_version, upgrade_script
from ..engine.store._session import run_on
from ..replay import COLUMNS, Kill, Log, LogError, ProofFailed, Replay, ReplayError, prove, read_log
from ..replay.show import Display, case_to_show
from ..worker import Machine, Worker
from .common import (
    BAD_USE,
    FAILED,
    MOST,
    NO,
    Dsn,
    Json,
    Schema,
    checked,
    connection,
    console,
    creating,
    end,
    note,
    progress,
    proved,
    said,
    table,
    when_ended,
    workplace,
    write_json,
    write_rows,
)  # fmt: skip


class _JsonLines(logging.Formatter):
    """A record of the log as a JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat()
        entry = {"at": at, "level": record.levelname, "logger": record.name, "message": record.getMessage()}
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


def _log(as_json: bool) -> None:
    """Logs to standard error, in lines of text or of JSON."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    if as_json:
        for handler in logging.getLogger().handlers:
            handler.setFormatter(_JsonLines())


class OnError(StrEnum):
    """What becomes of an event whose step raises."""

    FAIL = "fail"
    RETRY = "retry"


def init(
    upgrade: Annotated[bool, typer.Option("--upgrade", help="Bring an older store up to date.")] = False,
    dsn: Dsn = None,
    schema: Schema = None,
    as_json: Json = False,
) -> None:
    """Create the store in a database.

    If it is not there: as an extension, or by a script where that cannot be. Says which, and why.
    """
    with connection(dsn) as session:
        told: list[str] = []
        session.add_notice_handler(lambda diagnosis: told.append(diagnosis.message_primary or ""))
        place = run_on(session, find_store(schema))
        if place is None:
            with creating():
                run_on(session, create_store(schema))
            place = run_on(session, find_store(schema))
        elif upgrade:
            session.execute(upgrade_script(place).encode())
        # The script itself may have something to say; which way was taken comes last.
        which = told[-1] if told else f"there is a store in schema {place}"
        version = run_on(session, find_version(str(place)))
    if as_json:
        write_json({"schema": place, "version": version, "how": which})
    else:
        console().print(Text(f"{which}: version {version}" if not told else which), soft_wrap=True)
    if version != VERSION:
        end(
            NO,
            f"the store is of version {version}, this program of {VERSION}: harel init --upgrade, or another program",
        )


def up(
    folder: Annotated[
        Path, typer.Option("--folder", "-f", help="Where its data is kept for the next time.", file_okay=False)
    ] = Path(".harel"),
    as_json: Json = False,
) -> None:
    """Run a PostgreSQL for development.

    With the store in it, until Ctrl-C. Prints its DSN, and keeps its data in a folder for the next time. It listens on
    a socket in its folder only, and asks for no password.
    """
    when_ended(signal.default_int_handler)
    try:
        with EmbeddedServer(folder.absolute()) as server:
            with psycopg.connect(server.dsn, autocommit=True) as session:
                PostgresStore(session)
            if as_json:
                write_json({"dsn": server.uri})
            else:
                print(server.uri, flush=True)
                note(f"in another terminal: export HAREL_DSN='{server.uri}'    (Ctrl-C ends the server)")
            # Not signal.pause(): a signal that comes just before it would have to come again.
            while True:
                time.sleep(1)
    except KeyboardInterrupt:
        note(f"the server has ended; its data is in {folder}")


def _machines(target: str) -> Mapping[str, Machine]:
    module, _, name = target.partition(":")
    if not module or not name:
        end(BAD_USE, f"{target}: name a module and what it holds, as in package.module:machines")
    sys.path.insert(0, os.getcwd())
    try:
        machines: Any = import_module(module)
    except Exception as error:
        end(BAD_USE, f"{target}: {module} cannot be imported: {type(error).__name__}: {said(error)}")
    for part in name.split("."):
        if not hasattr(machines, part):
            end(BAD_USE, f"{target}: {module} has no {name}")
        machines = getattr(machines, part)
    if not isinstance(machines, Mapping) or not machines or not all(map(callable, machines.values())):
        end(BAD_USE, f"{target} is no mapping of definition ids to machines")
    return machines


def worker(
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:MACHINES",
            help="A mapping of definition ids to machines, and the module that holds it; the current folder counts.",
        ),
    ],
    dsn: Dsn = None,
    schema: Schema = None,
    concurrency: Annotated[int, typer.Option(min=1, max=MOST, help="Messages held at once.")] = 100,
    batch: Annotated[int, typer.Option(min=1, max=MOST, help="Messages claimed or settled by one call at most.")] = 50,
    visibility: Annotated[float, typer.Option(help="Seconds until the messages of a dead worker come back.")] = 30.0,
    on_error: Annotated[OnError, typer.Option(help="Whether a step that raises fails its execution.")] = OnError.FAIL,
    max_attempts: Annotated[
        int, typer.Option(min=1, max=MOST, help="Deliveries before a message is a dead letter.")
    ] = 20,
    listen: Annotated[bool, typer.Option("--listen/--no-listen", help="Wake up by LISTEN, or only by polling.")] = True,
    pooler: Annotated[
        bool, typer.Option("--pooler", help="The DSN leads to a pooler, such as pgbouncer in transaction mode.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Log JSON, an object a line.")] = False,
) -> None:
    """Run machines over the queue.

    Until SIGTERM or Ctrl-C, which lets it finish what it has begun.
    """
    _log(as_json)
    # The worker itself says that the database does not answer.
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    dsn, machines = checked(dsn), _machines(target)
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
        end(BAD_USE, str(error))
    logging.info("worker %s runs %s", it.worker_id, ", ".join(sorted(machines)))
    try:
        asyncio.run(it.run(signals=(signal.SIGTERM, signal.SIGINT)))
    except asyncio.CancelledError:
        end(FAILED, "interrupted twice: what was in hand comes back when its leases end")
    logging.info("worker %s has ended: %s", it.worker_id, dict(it.tally))


def relay(
    shards: Annotated[
        list[str],
        typer.Option(
            "--shard",
            envvar="HAREL_SHARDS",
            help="The DSN of a shard; once for each of them all. In the environment they are URIs, parted by spaces.",
            show_default=False,
            show_envvar=True,
        ),
    ],
    schema: Schema = None,
    interval: Annotated[float, typer.Option(min=0, max=3600, help="Seconds to sleep where nothing waits.")] = 1.0,
    as_json: Annotated[bool, typer.Option("--json", help="Log JSON, an object a line.")] = False,
) -> None:
    """Move between shards.

    Brings the events and the children that executions have for those of another shard there, until SIGTERM or Ctrl-C.
    Any number may run. A shard that does not answer is tried again, and holds up what concerns it only.
    """
    _log(as_json)
    for dsn in shards:
        checked(dsn)
    when_ended(signal.default_int_handler)
    moved = 0
    try:
        # One that is down must not hold up the others for as long as a client would wait for it.
        store = ShardedStore(shards, schema=schema, create_schema=False, connect_retries=0)
        with closing(store):
            logging.info("relay between %s shards: %s", len(store.shards), ", ".join(store.shards))
            while True:
                try:
                    just_moved = store.relay()
                except (psycopg.Error, StoreError) as error:
                    logging.warning("%s", said(error))
                    just_moved = 0
                moved += just_moved
                if not just_moved:
                    time.sleep(interval)
    except KeyboardInterrupt:
        logging.info("relay has ended: %s moved", moved)


def demo(
    orders: Annotated[int, typer.Option(min=1, max=9999, help="How many orders.")] = 400,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """See it survive: orders, kills, a crash.

    Runs orders through three worker processes while one of them is killed and the server crashes, and proves that
    every event was applied once and in order all the same. On a server of its own, or in a schema of its own on the one
    that --dsn names, which is not crashed. The exit code is 0 only if the proof holds.
    """
    try:
        with workplace(dsn, "demo") as (where, schema, server):
            done = proved(Run(orders, console(stderr=as_json), where, schema, server).run()) | {"orders": orders}
    except DemoError as error:
        end(FAILED, said(error))
    _conclude(done, as_json)


def replay(
    file: Annotated[Path, typer.Argument(help=f"An event log: CSV with the columns {','.join(COLUMNS)}, gzip or not.")],
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 4,
    kills: Annotated[int, typer.Option(min=0, help="Workers killed and server crashes, at random moments.")] = 20,
    seed: Annotated[int | None, typer.Option(help="Decides when and who.", show_default="random")] = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Prove it on an event log of yours.

    Sends the log through the queue while workers are killed and the server crashes, and proves that every event was
    applied once and in order all the same.

    Without --dsn on a server of its own; another server is not crashed, and is left as it was. The exit code is 0 only
    if the proof holds; 2 is a log that cannot be read.
    """
    try:
        log = read_log(file)
        with workplace(dsn, "replay") as (where, schema, server):
            done = _replay(log, where, schema, server, workers, kills, seed, console(stderr=as_json))
    except LogError as error:
        end(BAD_USE, str(error))
    except ReplayError as error:
        end(FAILED, said(error))
    _conclude(done, as_json)


def _conclude(done: Mapping[str, Any], as_json: bool) -> None:
    """Ends a run that has proved something, or has not."""
    if as_json:
        write_json(done)
    if not done["holds"]:
        end(FAILED, "the proof does not hold")


def _replay(
    log: Log,
    dsn: str,
    schema: str | None,
    server: EmbeddedServer | None,
    workers: int,
    kills: int,
    seed: int | None,
    shown_on: Console,
) -> dict[str, Any]:
    display = Display(shown_on, log)

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
    with psycopg.connect(dsn, autocommit=True) as session:
        # Distributions add their own number.
        version = (session.info.parameter_status("server_version") or "").split(" ")[0]
        PostgresStore(session, schema=schema)
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
    shown_on.print(
        Text.assemble(
            (display.printable(log.definition_id), "bold"),
            f": {len(log.cases):,} cases, {log.events:,} events, {workers} worker processes, PostgreSQL {version}"
            f"{' embedded' if server else ''}, seed {run.seed}",
        )
    )
    if server is None:
        shown_on.print("this server is not the replay's own, so it will not be crashed", style="yellow")
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
    with psycopg.connect(dsn, autocommit=True) as session:
        display.trace(shown, PostgresStore(session, schema=schema).read_trace(shown))
    return proved(checks) | {
        "seed": run.seed,
        "seconds": replayed.seconds,
        "events": log.events,
        "crashes": replayed.crashes,
    }


def bench(
    seconds: Annotated[
        float, typer.Option("--seconds", "-t", min=0.1, max=86400, help="How long each kind of call is measured.")
    ] = 3.0,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Measure how fast a server is for harel.

    Its calls, in turn, beside the bare round trip. On a server of its own, or in a schema of its own on the one that
    --dsn names, with one connection.
    """
    results: list[Measurement] = []
    with workplace(dsn, "bench") as (where, schema, _), progress("measuring") as progressed:
        for result in measured(where, schema, seconds):
            if isinstance(result, Measurement):
                results.append(result)
            else:
                progressed(result)
    made = table("call", ">median", ">p99", ">a second", ">round trips")
    write_rows([asdict(result) for result in results], as_json, made, lambda row: (
        row["what"], f"{row['median'] * 1e6:,.0f} µs", f"{row['p99'] * 1e6:,.0f} µs", round(row["per_second"]),
        f"{row['trips']:.1f}",
    ))  # fmt: skip


def ui(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8700,
    write: Annotated[
        bool, typer.Option("--write", help="Let it redrive, suspend, resume, cancel, send and purge.")
    ] = False,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="HAREL_UI_TOKEN",
            help="What a visitor must know. Without it one is made at each start; an empty one asks nobody.",
            show_default=False,
        ),
    ] = None,
    hosts: Annotated[
        list[str] | None,
        typer.Option("--allow-host", help="A name that it is reached by, besides localhost and IP addresses."),
    ] = None,
    dsn: Dsn = None,
    schema: Schema = None,
    as_json: Json = False,
) -> None:
    """Serve the web console.

    Until SIGTERM or Ctrl-C. The line that it prints says where it is.
    """
    try:
        from ..ui import serve
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("harel"):
            raise
        end(BAD_USE, "the console is an extra: pip install 'harel[ui]'")
    # They are handled in good order, and then raised again.
    for number in signal.SIGTERM, signal.SIGINT:
        signal.signal(number, lambda *_: sys.exit(0))
    try:
        serve(
            checked(dsn),
            host,
            port,
            schema=schema,
            write=write,
            token=token,
            hosts=hosts or (),
            announce=lambda url: write_json({"url": url}) if as_json else print(url, flush=True),
        )
    except (ValueError, OSError) as error:
        end(BAD_USE, f"the console cannot be served on {host}: {error}")
