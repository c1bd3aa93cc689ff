"""Servers that lose their disk, or whose standby takes over, while a log is applied."""

import os
import random
import signal
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from wire import KINDS, opened, until

from harel import Execution, PostgresStore
from harel.embedded import EmbeddedServer

from .disturbances import WAITING_FOR_STANDBY, Failover, FullDisk
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


@pytest.mark.parametrize("kind", KINDS)
def test_a_commit_that_can_be_seen_and_is_not_on_the_standby_is_not_taken_for_done(kind: str) -> None:
    with (
        with_standby() as (primary, standby),
        opened(kind, both(primary, standby), connect_retries=1000, retry_delay=0.05) as store,
        psycopg.connect(primary.dsn, autocommit=True) as session,
        psycopg.connect(standby.dsn, autocommit=True) as reader,
        ThreadPoolExecutor(1) as threads,
    ):
        exe = Execution(definition_id="orders")
        store.save(exe)

        def waiting() -> list[Any]:
            return session.execute(WAITING_FOR_STANDBY).fetchall()

        [(receiver,)] = reader.execute("SELECT pid FROM pg_stat_wal_receiver")
        os.kill(receiver, signal.SIGSTOP)
        try:
            saved = threads.submit(store.save, exe)
            [first] = until(waiting)
            session.execute("SELECT pg_terminate_backend(%s::integer)", first)
            # The client has seen its commit, and waits in its turn.
            until(lambda: saved.done() or [one for one in waiting() if one != first])
            assert not saved.done()
            primary.stop("immediate")
        finally:
            os.kill(receiver, signal.SIGCONT)
        standby.promote()
        saved.result(30)
        assert exe.version == 2
        assert reader.execute("SELECT version FROM executions").fetchall() == [(2,)]
