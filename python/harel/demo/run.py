"""The run: orders on their way through three worker processes, one of which is killed, as is the server."""

import time
from collections import Counter
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from psycopg.rows import dict_row
from rich.console import Console

from ..embedded import EmbeddedServer
from ..engine.store import PostgresStore
from ..replay.proof import Check
from .orders import DEFINITION, PAYMENT, SHIPPING
from .proof import located, prove
from .show import Display
from .workers import WorkerProcess
from .world import World, plans

SEED = 1987
WORKERS = 3

# Shares of the orders at whose end a worker is killed, and the server.
KILL_AT, CRASH_AT = 1 / 3, 2 / 3

# Seconds: between two looks at what is due, and without any order coming to its end.
PAUSE, SILENCE = 0.01, 60.0

# The longest trace that is shown.
SCREEN = 28

_HELD: LiteralString = "SELECT count(*) FROM {schema}.transport_groups WHERE worker = %s"

_LEFT: LiteralString = """
SELECT (SELECT count(*) FROM {schema}.transport_groups)
    + (SELECT count(*) FROM {schema}.executions WHERE status NOT IN ('DONE', 'CANCELLED', 'FAILED'))
"""

_NUMBERS: LiteralString = """
WITH steps AS (
    SELECT entry::json ->> 'event' AS kind, entry::json ->> 'from' AS state,
        (
            SELECT count(*) FROM json_array_elements(entry::json -> 'sent') s (event) WHERE event ->> 'target' <> ''
        ) AS sent
    FROM {schema}.trace
)
SELECT count(*) FILTER (WHERE outcome = 'delivered' AND parent_id IS NULL) AS delivered,
    count(*) FILTER (WHERE data::json -> 'context' ->> 'reason' = 'by the customer') AS by_customer,
    count(*) FILTER (WHERE data::json -> 'context' ->> 'reason' = 'payment deadline') AS by_deadline,
    count(*) FILTER (WHERE data::json -> 'context' ->> 'reason' = 'payment failed') AS by_failure,
    count(*) AS executions,
    (SELECT count(*) FROM {schema}.processed_events) AS events,
    (SELECT sum(sent) FROM steps) AS sent,
    (SELECT count(*) FROM steps WHERE kind = 'Timeout') AS timeouts,
    (SELECT count(*) FROM steps WHERE kind = 'Timeout' AND state = '/payment/retrying') AS retries
FROM {schema}.executions
"""

# The order that had most to go through, and fits on a screen.
_SHOWN: LiteralString = """
SELECT split_part(execution_id, '/', 1) AS id
FROM {schema}.trace
GROUP BY split_part(execution_id, '/', 1)
HAVING count(*) <= %s
ORDER BY count(*) DESC, id
LIMIT 1
"""


class DemoError(RuntimeError):
    """The demo cannot go on."""


class Run:
    """Some orders, to be run once: on the demo's own server, or in a schema on another, which is not crashed."""

    def __init__(
        self, orders: int, console: Console, dsn: str, schema: str | None = None, server: EmbeddedServer | None = None
    ) -> None:
        self._orders = orders
        self._display = Display(console, orders)
        self._dsn = dsn
        self._schema = schema
        self._server = server
        self._workers: list[WorkerProcess] = []
        self._tally: Counter[str] = Counter()
        self._to_kill, self._to_crash = True, server is not None

    def run(self) -> list[Check]:
        """Runs, proves and shows; no process is left at the end, however it ends. Returns the claims of the proof."""
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            # The store is there before the first worker looks for it.
            PostgresStore(connection, schema=self._schema)
            self._place = located(connection, self._schema)
            # Distributions add their own number.
            version = (connection.info.parameter_status("server_version") or "").split(" ")[0]
        self._display.introduce(
            f"{self._orders:,} orders",
            f"{WORKERS} worker processes, PostgreSQL {version} {'embedded' if self._server else 'elsewhere'}",
        )
        if self._server is None:
            self._display.say("this server is not the demo's own, so it will not be crashed", "yellow")
        world = World(plans(self._orders, SEED), self._dsn, self._schema)
        # Started now, because its start would unblock the signal that a worker's start blocks.
        resource_tracker.ensure_running()
        try:
            for number in range(1, WORKERS + 1):
                self._workers.append(self._start(number))
            # One that starts later would find less to do.
            while not all(worker.ready for worker in self._workers):
                self._hear(SILENCE)
            with self._display.progress():
                started = time.monotonic()
                self._work(world)
                seconds = time.monotonic() - started
            for worker in self._workers:
                code = worker.stop()
                if code != 0:
                    raise DemoError(f"{worker.name} has ended with exit code {code}")
                self._tally += worker.tally
        finally:
            for worker in self._workers:
                worker.kill()
            world.close()
        if self._to_kill:
            self._display.say("there were too few orders for a worker to be killed in the middle of its work", "yellow")
        return self._show(world, seconds)

    def _work(self, world: World) -> None:
        """Until all orders are at their end."""
        world.begin()
        confirmed, since = 0, time.monotonic()
        while confirmed < self._orders or self._query(world.connection, _LEFT):
            world.act()
            self._hear(PAUSE)
            if len(world.confirmed) > confirmed:
                confirmed, since = len(world.confirmed), time.monotonic()
                self._display.progressed(confirmed)
            elif time.monotonic() - since > SILENCE:
                raise DemoError(f"no order has come to its end for {SILENCE:.0f} s")
            if self._to_kill and confirmed >= KILL_AT * self._orders:
                self._kill_one(world)
            if self._to_crash and confirmed >= CRASH_AT * self._orders:
                self._crash(world)

    def _start(self, number: int) -> WorkerProcess:
        return WorkerProcess(number, self._dsn, self._schema)

    def _hear(self, seconds: float) -> None:
        """Waits for word from the workers, at most so long."""
        workers = {worker.channel: worker for worker in self._workers}
        for channel in wait(list(workers), seconds):
            if isinstance(channel, Connection) and not workers[channel].hear():
                raise DemoError(f"{workers[channel].name} has ended of itself")

    def _kill_one(self, world: World) -> None:
        """Kills a worker that has messages in its hands, and puts another in its place, if there is one."""
        for place, worker in enumerate(self._workers):
            # It stands still meanwhile, or it would be done before the signal comes.
            worker.freeze()
            held = self._query(world.connection, _HELD, worker.name)
            if not held:
                worker.thaw()
                continue
            worker.kill()
            self._tally += worker.tally
            successor = self._workers[place] = self._start(WORKERS + 1)
            self._display.say(
                f"{worker.name} killed with SIGKILL, {held} messages in hand; {successor.name} starts", "magenta"
            )
            self._to_kill = False
            return

    def _crash(self, world: World) -> None:
        assert self._server is not None
        self._display.say("server stopped with -m immediate, as in a crash", "red")
        down = time.monotonic()
        self._server.stop("immediate")
        self._server.start()
        world.connect()
        seconds = time.monotonic() - down
        self._display.say(f"server up again after {seconds:.1f} s: the workers reconnect and go on", "green")
        self._to_crash = False

    def _query(self, connection: "psycopg.Connection[Any]", query: LiteralString, *parameters: Any) -> Any:
        """The one value that a query returns; None where there is no row."""
        row = connection.execute(sql.SQL(query).format(schema=self._place), parameters).fetchone()
        return row and row[0]

    def _show(self, world: World, seconds: float) -> list[Check]:
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            self._display.numbers(self._numbers(connection, world, seconds))
            checks = prove(connection, self._schema, world)
            self._display.proof(checks)
            shown = self._query(connection, _SHOWN, SCREEN)
            if shown is not None:
                store = PostgresStore(connection, schema=self._schema)
                lanes = {DEFINITION: shown, PAYMENT: f"{shown}/{PAYMENT}", SHIPPING: f"{shown}/{SHIPPING}"}
                self._display.timeline(shown, {lane: store.read_trace(id) for lane, id in lanes.items()})
        return checks

    def _numbers(self, connection: "psycopg.Connection[Any]", world: World, seconds: float) -> dict[str, str]:
        with connection.cursor(row_factory=dict_row) as cursor:
            row = cursor.execute(sql.SQL(_NUMBERS).format(schema=self._place)).fetchone()
        assert row is not None
        charged, refunded = (
            sum(entry.amount for entry in world.books.values() if entry.answer == answer) / 100
            for answer in ("Charged", "Refunded")
        )
        return {
            "orders": f"{self._orders:,}",
            "delivered": f"{row['delivered']:,}",
            "cancelled by the customer": f"{row['by_customer']:,}",
            "cancelled at the payment deadline": f"{row['by_deadline']:,}",
            "cancelled as the payment failed": f"{row['by_failure']:,}",
            "charged - refunded = kept": f"{charged:,.2f} - {refunded:,.2f} = {charged - refunded:,.2f}",
            "executions": f"{row['executions']:,}",
            "events from outside": f"{len(world.published):,}",
            "events between executions": f"{row['sent']:,}",
            "timers fired": f"{row['timeouts']:,}",
            "payments tried again": f"{row['retries']:,}",
            "events handled, each in a commit": f"{row['events']:,}",
            "events published twice": f"{world.published_again:,}",
            "redeliveries recognised": f"{self._tally['repeated']:,}",
            "leases lost": f"{self._tally['expired']:,}",
            "conflicts lost": f"{self._tally['conflicts']:,}",
            "time": f"{seconds:.1f} s",
            "commits per second": f"{row['events'] / seconds:,.0f}",
        }
