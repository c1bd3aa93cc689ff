"""One run: a slice of a log is applied while something disturbs it, and then everything must be as if nothing had."""

import csv
import gzip
import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from harel import Execution, PostgresStore, PostgresTransport
from harel.embedded import EmbeddedServer
from harel.replay import COLUMNS, Log, read_log, row_event

from .checks import check
from .clients import (
    InProcess,
    InThread,
    Task,
    notes,
    run_client,
    run_worker,
    tally,
    until,
)
from .disturbances import Disturbance, with_options
from .proxy import Proxy

# Far longer than a run takes.
DEADLINE = 120.0


def source() -> Path | None:
    """The log of a help desk, or None where it is absent."""
    folder = Path(os.environ.get("HAREL_DATA") or Path(__file__).parents[2] / ".." / "shared" / "data")
    path = folder / "helpdesk.csv.gz"
    return path if path.exists() else None


def slice_of_log(chance: random.Random, events: int, folder: Path) -> Log:
    """Cases of the help desk chosen by chance, in the order of the source; of a made-up log where it is absent."""
    path = source()
    if path is None:
        rows = [(f"case-{n % (events // 5)}", f"step {n // 20}", "", f"2024-03-01T{n // 60 % 24:02}:{n % 60:02}", "")
                for n in range(events)]  # fmt: skip
    else:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            rows = [tuple(row[column] for column in COLUMNS) for row in csv.DictReader(file)]
    counts = Counter(row[0] for row in rows)
    cases = sorted(counts)
    chance.shuffle(cases)
    chosen: set[str] = set()
    for case in cases:
        if sum(counts[one] for one in chosen) >= events:
            break
        chosen.add(case)
    sliced = folder / "log.csv"
    with sliced.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *(row for row in rows if row[0] in chosen)])
    return read_log(sliced)


@contextmanager
def database(server: EmbeddedServer, name: str) -> Iterator[str]:
    """The DSN of a fresh database with a store."""
    with psycopg.connect(server.dsn, autocommit=True) as session:
        session.execute(f'CREATE DATABASE "{name}"'.encode())
    dsn = make_conninfo(server.dsn, dbname=name)
    PostgresStore.from_dsn(dsn).close()
    yield dsn
    with psycopg.connect(server.dsn, autocommit=True) as session:
        session.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


def run(
    server: EmbeddedServer, dsn: str, disturbance: Disturbance, folder: Path, *, workers: bool, events: int
) -> Counter[str]:
    """A run by workers over the queue, or by two clients of a store; returns what was done and counted.

    Fails where a member does not come to its end by itself, and where check() does.
    """
    chance = disturbance.chance
    log = slice_of_log(chance, events, folder)
    with Proxy(server.dsn if not disturbance.proxied else dsn) as proxy:
        ours = with_options(proxy.dsn if disturbance.proxied else dsn, disturbance.options)
        kinds = ("sync", "async") if not workers else ("worker", "worker")
        tasks = [
            Task(
                kind, log.path, ours, dsn, chance.randrange(2**32), folder / f"{n}.journal",
                0.3 if type(disturbance).__name__ == "Cancel" and kind == "async" else 0.0,
            )
            for n, kind in enumerate(kinds)
        ]  # fmt: skip
        members = [_member(task, disturbance.in_processes) for task in tasks]
        try:
            disturbance.begin(server, dsn, proxy, members, log)
            try:
                if workers:
                    publish(log, dsn)
                    until(lambda: drained(log, dsn), DEADLINE, "the queue is not drained")
                else:
                    until(lambda: all(member.ended() for member in members), DEADLINE, "the clients have not ended")
            finally:
                disturbance.end()
            tasks[0].stop.touch()
            until(lambda: all(member.ended() for member in members), DEADLINE, "the workers have not ended")
        finally:
            for member in members:
                if isinstance(member, InProcess):
                    member.stop()
    assert not disturbance.times or disturbance.tally.total(), "all was done before it was disturbed"
    entries = notes(folder)
    compared = check(log, dsn, entries)
    counted = {"runs": 1, "events": log.events, "commits compared": compared}
    return Counter(counted) + disturbance.tally + tally(entries)


def _member(task: Task, in_process: bool) -> Any:
    body = run_worker if task.kind == "worker" else run_client
    return InProcess(body, task) if in_process else InThread(lambda: body(task))


def publish(log: Log, dsn: str) -> None:
    """Creates the executions and publishes all events, again where the server has gone away in the middle of it."""
    while True:
        try:
            with psycopg.connect(dsn, autocommit=True) as session, session.transaction():
                store, transport = PostgresStore(session), PostgresTransport(session)
                for case in log.cases:
                    if store.load(case) is not None:
                        # It was, and only the answer was lost.
                        return
                    store.save(Execution(id=case, definition_id=log.definition_id, context={"position": 0}))
                seen: Counter[str] = Counter()
                messages = []
                for case in log.order:
                    messages.append((case, row_event(case, log.cases[case], seen[case])))
                    seen[case] += 1
                transport.publish_many(messages)
            return
        except (psycopg.OperationalError, psycopg.InternalError):
            continue


def drained(log: Log, dsn: str) -> bool:
    """Whether the queue is empty, as far as can be seen now."""
    try:
        with psycopg.connect(dsn) as session:
            [(empty,)] = session.execute(
                "SELECT NOT EXISTS (SELECT 1 FROM transport_groups) AND EXISTS (SELECT 1 FROM executions)"
            )
            return bool(empty)
    except (psycopg.OperationalError, psycopg.InternalError):
        return False
