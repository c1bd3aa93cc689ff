"""How things are compared: in turn, A B A B, and reported as the ratio of the two."""

import re
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from harel.embedded import EmbeddedServer

from .peers.serve import per_second, repeat

# The commits wait for the disk or not as each benchmark says. No checkpoint falls into a block by the clock.
SETTINGS = {
    "max_connections": "200",
    "shared_buffers": "1GB",
    "max_wal_size": "16GB",
    "checkpoint_timeout": "1h",
    "track_functions": "none",
}

# What a commit waits for: nothing, the disk as it is, and one that takes a millisecond longer.
DISKS = {
    "async": "-c synchronous_commit=off",
    "fsync": "-c synchronous_commit=on",
    "fsync + 1 ms": "-c synchronous_commit=on -c commit_delay=1000 -c commit_siblings=0",
}

# Seconds, or calls a second, of one side in one block.
Block = Callable[[], float]


@dataclass(frozen=True)
class Goal:
    """What the median of the ratios shall be."""

    sign: str
    value: float

    def met(self, ratio: float) -> bool:
        return ratio >= self.value if self.sign == ">=" else ratio <= self.value

    def __str__(self) -> str:
        return f"{self.sign} {self.value:g}"


def at_least(value: float) -> Goal:
    return Goal(">=", value)


def at_most(value: float) -> Goal:
    return Goal("<=", value)


@dataclass
class Comparison:
    """Two things measured in turn: of each round the figures of both, in `unit`; none where one side cannot do it."""

    benchmark: str
    what: str
    against: str
    parameters: str
    unit: str
    goal: Goal | None
    rounds: list[tuple[float, float]] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        return [a / b for a, b in self.rounds]

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)

    @property
    def met(self) -> bool | None:
        return self.goal.met(self.ratio) if self.goal and self.rounds else None

    @property
    def medians(self) -> tuple[float, float]:
        a, b = (statistics.median(column) for column in zip(*self.rounds, strict=True))
        return a, b

    def __str__(self) -> str:
        if not self.rounds:
            return f"{self.what} / {self.against}: the latter cannot do it"
        a, b = self.medians
        goal = f", goal {self.goal}: {'met' if self.met else 'MISSED'}" if self.goal else ""
        return (
            f"{self.what} / {self.against} ({self.parameters}): {self.ratio:.3g} "
            f"({min(self.ratios):.3g} to {max(self.ratios):.3g}; {a:.4g} and {b:.4g} {self.unit}){goal}"
        )


class Bench:
    """A server, and what is measured on it.

    rounds and seconds: how many blocks of each side, and how long one lasts.
    scale: 1 for the sizes that the goals name, such as a million rows.
    """

    def __init__(self, server: EmbeddedServer, rounds: int, seconds: float, scale: float) -> None:
        self.server = server
        self.rounds = rounds
        self.seconds = seconds
        self.scale = scale
        self.comparisons: list[Comparison] = []
        self.current = ""
        self._databases = 0
        self._kept: dict[str, str] = {}

    def run(self, name: str, benchmark: Callable[["Bench"], None]) -> None:
        self.current = name
        start = time.perf_counter()
        benchmark(self)
        print(f"{name}: took {time.perf_counter() - start:.0f} s", flush=True)

    def size(self, full: int, least: int = 1) -> int:
        """A size of data at this scale."""
        return max(least, int(full * self.scale))

    def compare(
        self,
        what: str,
        a: Block,
        against: str,
        b: Block | None,
        *,
        parameters: str = "",
        unit: str = "calls/s",
        goal: Goal | None = None,
        rounds: int = 1,
    ) -> None:
        """Runs the blocks of both in turn; without `b` the other side cannot do it.

        rounds: by how much those of the bench are multiplied, where the noise asks for more.
        """
        comparison = Comparison(self.current, what, against, parameters, unit, goal)
        for _ in range(self.rounds * rounds if b else 0):
            assert b
            comparison.rounds.append((a(), b()))
        self.add(comparison)

    def add(self, comparison: Comparison) -> None:
        self.comparisons.append(comparison)
        print(f"{comparison.benchmark}: {comparison}", flush=True)

    def rate(self, call: Callable[[], Any]) -> Block:
        """Calls a second of a block of this call, one after another."""

        return lambda: per_second(repeat(call, self.seconds))

    def median_time(self, call: Callable[[], Any], calls: int, restore: Callable[[Any], Any] | None = None) -> Block:
        """Seconds of a call: the median of some, of which each is undone by `restore` untimed."""
        calls = max(1, min(calls, self.size(calls * 1000)))

        def block() -> float:
            times = []
            for _ in range(calls):
                start = time.perf_counter()
                result = call()
                times.append(time.perf_counter() - start)
                if restore:
                    restore(result)
            return statistics.median(times)

        return block

    @contextmanager
    def database(self, *, store: bool = True, wait_for_disk: bool = False) -> Iterator[str]:
        """The DSN of a database of its own, with the extension if `store`; its sessions wait for the disk or not."""
        dsn = self._create_database(store, wait_for_disk)
        try:
            yield dsn
        finally:
            with psycopg.connect(self.server.dsn, autocommit=True) as session:
                name = sql.Identifier(conninfo_to_dict(dsn)["dbname"])
                session.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))

    def kept(self, name: str, fill: Callable[[str], None]) -> str:
        """The DSN of a database that is filled once, for the benchmarks that only read it."""
        if name not in self._kept:
            dsn = self._create_database(store=True, wait_for_disk=False)
            fill(dsn)
            self._kept[name] = dsn
        return self._kept[name]

    def _create_database(self, store: bool, wait_for_disk: bool) -> str:
        self._databases += 1
        name = f"bench_{self._databases}"
        with psycopg.connect(self.server.dsn, autocommit=True) as session:
            session.execute(f"CREATE DATABASE {name}")
            session.execute(f"ALTER DATABASE {name} SET synchronous_commit = {'on' if wait_for_disk else 'off'}")
        dsn = make_conninfo(self.server.dsn, dbname=name)
        if store:
            with psycopg.connect(dsn, autocommit=True) as inside:
                inside.execute("CREATE EXTENSION harel")
        return dsn


def with_disk(dsn: str, disk: str) -> str:
    """The DSN with commits that wait for a disk of DISKS."""
    return make_conninfo(dsn, options=DISKS[disk])


class Pgbench:
    """Blocks of a pgbench script, each of whose clients goes on where its last block ended.

    The script finds in :n the number of the transaction among those of its client, from 0. A block is longer than
    others, since its connections are new, and the first calls on a connection plan and compile.
    """

    LENGTH = 3.0

    def __init__(self, bench: Bench, dsn: str, script: str, clients: int = 1, **variables: str) -> None:
        self._bench = bench
        self._dsn = dsn
        self._clients = clients
        self._variables = variables
        self._script = f"\\set n :n + 1\n{script}\n"
        self.done = 0
        self._rate = 0.0

    def __call__(self) -> float:
        """Transactions a second of one block."""
        if not self._rate:
            self._rate = self._run(20)
            self._rate = self._run(self._transactions(0.2))
        return self._run(self._transactions(self.LENGTH))

    def _transactions(self, share: float) -> int:
        return max(1, int(self._rate * self._bench.seconds * share / self._clients))

    def _run(self, transactions: int) -> float:
        """`transactions` of each client."""
        command = [self._bench.server.bin / "pgbench", "-n", "-M", "prepared", "-f", "-", self._dsn]
        command += ["-c", str(self._clients), "-t", str(transactions), "-j", str(min(2, self._clients))]
        for name, value in {"n": str(self.done - 1), **self._variables}.items():
            command += ["-D", f"{name}={value}"]
        result = subprocess.run(command, input=self._script, capture_output=True, text=True)
        if result.returncode != 0 or "failed transactions: 0 " not in result.stdout:
            raise RuntimeError(f"pgbench: {result.stdout}{result.stderr}")
        self.done += transactions
        found = re.search(r"tps = ([\d.]+)", result.stdout)
        assert found
        return float(found[1])


def fill(session: "psycopg.Connection[Any]", table: str, ids: str, rows: int, data: str) -> None:
    """Executions at version 1 in a table like that of the store; `ids` is an expression over i, from 0."""
    with psycopg.ClientCursor(session) as cursor:
        cursor.execute(
            sql.SQL(
                "INSERT INTO {} (id, definition_id, data, version, status) "
                f"SELECT {ids}, 'orders', %(data)s, 1, 'RUNNING' FROM generate_series(0, %(last)s) AS i"
            ).format(sql.Identifier(table)),
            {"data": data, "last": rows - 1},
        )
    session.execute(f"VACUUM ANALYZE {table}")
