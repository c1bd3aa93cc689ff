"""Servers that lose their disk, or whose standby takes over, while a log is applied."""

import os
import random
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo
from wire import KINDS, opened, until

from harel import Execution, PostgresStore
from harel.embedded import EmbeddedServer

from .disturbances import Failover, FullDisk
from .run import database, run
from .servers import NoSmallDiskError, with_small_disk, with_standby

SEED = int(os.environ.get("HAREL_FAULT_SEED") or random.randrange(10**6))


def full_disk(workers: bool, seed: int, events: int) -> Counter[str]:
    try:
        with (
            with_small_disk() as (server, wal),
            tempfile.TemporaryDirectory(prefix="harel-") as folder,
            database(server, "run") as dsn,
        ):
            disturbance = FullDisk(random.Random(f"FullDisk {workers} {seed}"))
            disturbance.wal = wal
            return run(server, dsn, disturbance, Path(folder), workers=workers, events=events)
    except NoSmallDiskError as reason:
        pytest.skip(str(reason))


def failover(workers: bool, seed: int, events: int) -> Counter[str]:
    with with_standby() as (primary, standby), tempfile.TemporaryDirectory(prefix="harel-") as folder:
        PostgresStore.from_dsn(primary.dsn).close()
        disturbance = Failover(random.Random(f"Failover {workers} {seed}"))
        disturbance.standby = standby
        return run(primary, both(primary, standby), disturbance, Path(folder), workers=workers, events=events)


def both(primary: EmbeddedServer, standby: EmbeddedServer) -> str:
    """The DSN of whichever of the two is the primary."""
    hosts = f"{primary.folder},{standby.folder}"
    return make_conninfo(primary.dsn, host=hosts, port="5432,5432", target_session_attrs="read-write")


RUNS = {"full disks": full_disk, "failovers": failover}


def one(what: str, workers: bool, seed: int, events: int) -> Counter[str]:
    began = time.monotonic()
    counted = RUNS[what](workers, seed, events)
    who = "workers" if workers else "clients"
    print(f"{who}, {what}, seed {seed}: {dict(counted)}, {time.monotonic() - began:.1f} s")
    assert counted[what] >= 1
    return counted


@pytest.mark.parametrize("workers", [False, True], ids=["clients", "workers"])
@pytest.mark.parametrize("what", RUNS)
def test_nothing_is_lost_with_the_disk_or_with_the_primary(what: str, workers: bool) -> None:
    one(what, workers, SEED, 60)


@pytest.mark.soak
@pytest.mark.parametrize("workers", [False, True], ids=["clients", "workers"])
@pytest.mark.parametrize("what", RUNS)
def test_nothing_is_lost_with_the_disk_or_with_the_primary_time_and_again(what: str, workers: bool) -> None:
    total = sum((one(what, workers, SEED + number, 200) for number in range(5)), Counter())
    print(f"in all: {dict(total)}")


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_waits_for_a_standby_to_be_promoted(kind: str) -> None:
    with with_standby() as (primary, standby):
        dsn = both(primary, standby)

        def load(execution_id: str) -> Execution | None:
            with opened(kind, dsn, connect_retries=1000, retry_delay=0.05) as other:
                return other.load(execution_id)

        with (
            opened(kind, dsn, connect_retries=1000, retry_delay=0.05) as store,
            ThreadPoolExecutor(2) as threads,
        ):
            exe = Execution(definition_id="orders")
            store.save(exe)
            primary.stop("immediate")
            log = standby.folder / "server.log"
            log.write_text("")
            saved = threads.submit(store.save, exe)
            loaded = threads.submit(load, exe.id)
            # By then they have found a standby only, and more than once.
            until(lambda: log.read_text().count("connection authorized") >= 6)
            standby.promote()
            saved.result(30)
            assert loaded.result(30) is not None
            assert store.load(exe.id) == exe
