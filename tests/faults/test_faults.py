"""Logs applied while a fault of each kind is done to processes, connections and the server, at random by a seed.

HAREL_FAULT_SEED=n repeats the runs of that seed; HAREL_FAULT_RUNS and HAREL_FAULT_SECONDS bound the long ones.
"""

import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from harel.embedded import EmbeddedServer

from .disturbances import DISTURBANCES
from .run import database, run, source

SEED = int(os.environ.get("HAREL_FAULT_SEED") or random.randrange(10**6))
RUNS = int(os.environ.get("HAREL_FAULT_RUNS") or 200)
SECONDS = float(os.environ.get("HAREL_FAULT_SECONDS") or 1500)


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    """A server that may be stopped at any moment."""
    with EmbeddedServer(settings={"fsync": "off", "max_connections": "200"}) as server:
        yield server


def one(server: EmbeddedServer, name: str, workers: bool, seed: int, events: int) -> Counter[str]:
    label = f"{'workers' if workers else 'clients'}, {name}, seed {seed}"
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="harel-") as folder, database(server, f"run {seed}") as dsn:
        disturbance = DISTURBANCES[name](random.Random(f"{name} {workers} {seed}"))
        try:
            counted = run(server, dsn, disturbance, Path(folder), workers=workers, events=events)
        except BaseException as error:
            error.add_note(f"run: {label}")
            raise
    print(f"{label}: {dict(counted)}, {time.monotonic() - began:.1f} s")
    return counted


KINDS = [(name, workers) for name in DISTURBANCES for workers in (False, True) if not (workers and name == "Cancel")]


@pytest.mark.parametrize(("name", "workers"), KINDS, ids=[f"{n}-{'workers' if w else 'clients'}" for n, w in KINDS])
def test_nothing_is_lost_or_done_twice(server: EmbeddedServer, name: str, workers: bool) -> None:
    counted = one(server, name, workers, SEED, 60)
    assert counted["runs"] == 1


@pytest.mark.soak
def test_nothing_is_lost_or_done_twice_in_hundreds_of_runs(server: EmbeddedServer) -> None:
    print(f"seed {SEED}; the log is {source() or 'made up, as that of the help desk is absent'}")
    total: Counter[str] = Counter()
    until = time.monotonic() + SECONDS
    for number in range(RUNS):
        name, workers = KINDS[number % len(KINDS)]
        total += one(server, name, workers, SEED + number, 300)
        if time.monotonic() > until:
            break
    print(f"in all: {dict(total)}")
    # In the time given, whatever the machine.
    assert total["runs"] >= min(RUNS, 20)
