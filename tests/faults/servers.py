"""Servers with a small disk for their WAL, and with a standby."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

from cluster import Standby
from harel.embedded import EmbeddedServer, EmbeddedServerError

from .clients import until

SETTINGS = {"fsync": "off", "max_connections": "200"}


class NoSmallDiskError(Exception):
    """A small disk cannot be had here; the message says why."""


@contextmanager
def with_small_disk() -> Iterator[tuple[EmbeddedServer, Path]]:
    """A server, and the folder of its WAL, a disk of a few segments. Raises NoSmallDiskError."""
    if os.geteuid() != 0:
        raise NoSmallDiskError("only root can mount a disk of its own for the WAL")
    with tempfile.TemporaryDirectory(prefix="harel-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        server = EmbeddedServer(folder / "s", settings={**SETTINGS, "min_wal_size": "32MB", "max_wal_size": "32MB"})
        disk = folder / "wal"
        disk.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", disk], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise NoSmallDiskError(f"a disk cannot be mounted: {done.stderr.strip()}")
        try:
            server.start()
            server.stop()
            wal = server.folder / "data" / "pg_wal"
            shutil.copytree(wal, disk / "pg_wal")
            shutil.rmtree(wal)
            wal.symlink_to(disk / "pg_wal")
            server._hand_over(disk, disk / "pg_wal", *(disk / "pg_wal").rglob("*"))
            with server:
                yield server, disk
        finally:
            subprocess.run(["umount", disk], check=True)


@contextmanager
def with_standby() -> Iterator[tuple[EmbeddedServer, Standby]]:
    """A server and its synchronous standby, whose log tells who connects."""
    settings = {**SETTINGS, "log_connections": "on"}
    with tempfile.TemporaryDirectory(prefix="harel-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        with EmbeddedServer(folder / "a", settings=settings) as primary, Standby(primary, folder / "b") as standby:
            with psycopg.connect(primary.dsn, autocommit=True) as session:
                session.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
                session.execute("SELECT pg_reload_conf()")

                def synchronous() -> bool:
                    return session.execute("SELECT sync_state FROM pg_stat_replication").fetchall() == [("sync",)]

                until(synchronous, 30, "the standby is not synchronous")
            yield primary, standby
            with suppress(EmbeddedServerError):
                primary.stop("immediate")
