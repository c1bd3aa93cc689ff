"""Events per second of one worker process, beside the worker of the PyPI package harel 0.9.0, in turn.

Both run a machine of the states a and b, with Go from a to b and Back from b to a, on the same server, each in a
database made for the round. The events are in the queue before the clock starts, and it stops when the queue is empty.
The benchmark fails unless every event has then been applied exactly once. Ours runs as it comes; the peer with the
settings that were its best.

    python tests/bench/worker.py --peer PEER_PYTHON [--fsync]
    python tests/bench/worker.py --peer PEER_PYTHON --sweep      what the peer's best settings are

The peer needs an environment of its own: python -m venv peer && peer/bin/pip install 'harel[postgres]==0.9.0', then
--peer peer/bin/python. HAREL_BENCH_DSN names another server than the embedded one; its role must be allowed to create
databases and the extension.
"""

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from harel import Event, Execution, PostgresStore
from harel.embedded import EmbeddedServer
from harel.engine.transport import PostgresTransport
from harel.worker import Step, Worker

PEER_VERSION = "0.9.0"
DATABASE = "harel_bench_worker"
STATES = ("a", "b")
KINDS = ("Go", "Back")
TRANSITIONS = {("a", "Go"): "b", ("b", "Back"): "a"}
LONGEST_ROUND = 600.0  # seconds; a queue that no one drains ends here

# The peer's defaults: it claims one message after another, and no setting of the sweep is faster beyond the noise.
CONCURRENCY = 256
POOL = 10
SWEEP = [(concurrency, pool) for concurrency in (4, 16, 64, 256) for pool in (4, 10, 32)]


@dataclass(frozen=True)
class Side:
    """A worker to measure: `command` is followed by `fill DSN EXECUTIONS EVENTS` or `work DSN` and the settings."""

    name: str
    prefix: str
    command: tuple[str, ...]
    settings: tuple[int, ...]


def step(execution: Execution, event: Event) -> Step:
    return Step(execution.model_copy(update={"active_path": TRANSITIONS[execution.active_path, event.kind]}))


def fill(dsn: str, executions: int, events: int) -> None:
    """Executions that stand in state a, and the events of each in its queue."""
    store = PostgresStore.from_dsn(dsn)
    transport = PostgresTransport.from_dsn(dsn)
    ids = []
    for _ in range(executions):
        exe = Execution(definition_id="toggle", status="RUNNING", active_path="a")
        store.save(exe)
        ids.append(exe.id)
    for n in range(events):
        transport.publish_many([(id_, Event(kind=KINDS[n % 2])) for id_ in ids])
    transport.close()
    store.close()


def work(dsn: str) -> None:
    """Says when it is ready, with its first events in hand, starts at a line of input and ends at SIGTERM."""
    began = False

    def first_waits(execution: Execution, event: Event) -> Step:
        nonlocal began
        if not began:
            began = True
            print("ready", flush=True)
            sys.stdin.readline()
        return step(execution, event)

    asyncio.run(Worker(dsn, {"toggle": first_waits}).run(signals=[signal.SIGTERM]))


@contextmanager
def fresh_database(server: str) -> Iterator[str]:
    drop = f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)"
    with psycopg.connect(server, autocommit=True) as session:
        session.execute(drop)
        session.execute(f"CREATE DATABASE {DATABASE}")
        yield make_conninfo(server, dbname=DATABASE)
        session.execute(drop)


def drain(session: "psycopg.Connection[Any]", side: Side, dsn: str) -> float:
    """The seconds in which a worker of that side empties the queue."""
    command = [*side.command, "work", dsn, *map(str, side.settings)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        try:
            if worker.stdout.readline() != "ready\n":
                raise SystemExit(f"{side.name}: the worker did not start")
            start = time.perf_counter()
            worker.stdin.write("\n")
            worker.stdin.flush()
            while session.execute(f"SELECT EXISTS (SELECT FROM {side.prefix}transport_messages)").fetchone()[0]:
                if worker.poll() is not None or time.perf_counter() - start > LONGEST_ROUND:
                    raise SystemExit(f"{side.name}: the worker left events in the queue")
                time.sleep(0.02)
            seconds = time.perf_counter() - start
            worker.terminate()
            if worker.wait(timeout=60) != 0:
                raise SystemExit(f"{side.name}: the worker ended with {worker.returncode}")
        finally:
            worker.kill()
    return seconds


def measure(server: str, side: Side, executions: int, events: int) -> float:
    """Events per second of one round."""
    with fresh_database(server) as dsn:
        subprocess.run([*side.command, "fill", dsn, str(executions), str(events)], check=True)
        with psycopg.connect(dsn, autocommit=True) as session:
            queued = session.execute(
                f"SELECT group_id, event::json ->> 'id' FROM {side.prefix}transport_messages"
            ).fetchall()
            assert len(queued) == executions * events
            # The statistics that a table in use has, and no checkpoint of the filling in the time measured.
            session.execute("VACUUM ANALYZE")
            session.execute("CHECKPOINT")
            seconds = drain(session, side, dsn)
            marks = session.execute(f"SELECT execution_id, event_id FROM {side.prefix}processed_events").fetchall()
            assert sorted(marks) == sorted(queued), f"{side.name}: not every event is marked as processed, once"
            stored = session.execute(f"SELECT version, data FROM {side.prefix}executions").fetchall()
            assert len(stored) == executions
            for version, data in stored:
                # The first commit made the execution.
                assert version == 1 + events, f"{side.name}: {version - 1} commits of {events} events: {data}"
                assert json.loads(data)["active_path"] == STATES[events % 2], f"{side.name}: in another state: {data}"
    return len(queued) / seconds


def spread(rates: list[float]) -> str:
    return f"{statistics.median(rates):.0f} events/s ({min(rates):.0f} to {max(rates):.0f})"


def compare(server: str, ours: Side, peer: Side, options: argparse.Namespace) -> None:
    rates: dict[Side, list[float]] = {ours: [], peer: []}
    for _ in range(options.rounds):
        for side, measured in rates.items():
            measured.append(measure(server, side, options.executions, options.events))
    for side, measured in rates.items():
        print(f"{side.name}: {spread(measured)}")
    ratios = [a / b for a, b in zip(rates[ours], rates[peer], strict=True)]
    print(f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def sweep(server: str, peers: list[Side], options: argparse.Namespace) -> None:
    rates: dict[Side, list[float]] = {peer: [] for peer in peers}
    for _ in range(options.rounds):
        for peer, measured in rates.items():
            measured.append(measure(server, peer, options.executions, options.events))
    for peer, measured in sorted(rates.items(), key=lambda item: -statistics.median(item[1])):
        concurrency, pool = peer.settings
        print(f"concurrency {concurrency}, pools of {pool}: {spread(measured)}")


def peer_python(path: str | None) -> str:
    install = f"peer/bin/pip install 'harel[postgres]=={PEER_VERSION}'"
    advice = f"python -m venv peer && {install}, then --peer peer/bin/python"
    if not path:
        raise SystemExit(f"where is the peer? {advice}")
    ask = "import importlib.metadata as m, psycopg_pool; print(m.version('harel'))"
    try:
        found = subprocess.run([path, "-I", "-c", ask], capture_output=True, text=True)
    except OSError as error:
        raise SystemExit(f"{error}: {advice}") from None
    if found.stdout.strip() != PEER_VERSION:
        raise SystemExit(f"{path} has no harel {PEER_VERSION} with psycopg_pool: {found.stdout + found.stderr}{advice}")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description="Events per second of one worker process, beside the peer's.")
    parser.add_argument("--peer", metavar="PYTHON", default=os.environ.get("HAREL_BENCH_PEER"), help="its Python")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--executions", type=int, default=500)
    parser.add_argument("--events", type=int, default=10, help="of each execution")
    parser.add_argument("--concurrency", type=int, default=CONCURRENCY, help="of the peer")
    parser.add_argument("--pool", type=int, default=POOL, help="connections in each of the peer's two pools")
    parser.add_argument("--fsync", action="store_true", help="the embedded server waits for the disk")
    parser.add_argument("--sweep", action="store_true", help="measure the peer alone, with many settings")
    options = parser.parse_args()

    python = peer_python(options.peer)
    peer_command = (python, "-I", str(Path(__file__).with_name("peer_worker.py")))
    ours = Side("ours", "", (sys.executable, __file__), ())
    peer = Side(f"harel {PEER_VERSION} of PyPI", "harel_", peer_command, (options.concurrency, options.pool))
    configuration = {"fsync": "on" if options.fsync else "off", "shared_buffers": "256MB", "max_connections": "200"}
    dsn = os.environ.get("HAREL_BENCH_DSN")
    with nullcontext() if dsn else EmbeddedServer(settings=configuration) as server:
        dsn = dsn or server.dsn
        with psycopg.connect(dsn) as session:
            (version,) = session.execute("SHOW server_version").fetchone()
            (fsync,) = session.execute("SHOW fsync").fetchone()
        print(
            f"PostgreSQL {version}, fsync {fsync}; {options.executions} executions of {options.events} events, "
            f"{options.rounds} rounds"
        )
        if options.sweep:
            sweep(dsn, [replace(peer, settings=settings) for settings in SWEEP], options)
        else:
            print(f"the peer: concurrency {options.concurrency}, pools of {options.pool} connections")
            compare(dsn, ours, peer, options)


if __name__ == "__main__":
    if sys.argv[1:2] in (["fill"], ["work"]):
        command, dsn, *numbers = sys.argv[1:]
        {"fill": fill, "work": work}[command](dsn, *map(int, numbers))
    else:
        main()
