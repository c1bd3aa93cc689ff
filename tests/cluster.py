"""Servers that belong together: a standby of another, the one that another was upgraded to, and the nodes of Citus."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from harel.embedded import EmbeddedServer
from servers import server

# The shards of each store of a test, 0 where it lies on one server.
SHARDS = int(os.environ.get("HAREL_TEST_DISTRIBUTED") or 0)


class Standby(EmbeddedServer):
    """A copy of another server, which follows it once it is started."""

    def __init__(self, primary: EmbeddedServer, folder: Path | None = None) -> None:
        super().__init__(folder)
        self._primary = primary

    def promote(self) -> None:
        """Takes over: from now on it can be written to."""
        self._run("pg_ctl", "promote", "--wait", "--silent")

    def _create(self) -> None:
        self._run(
            "pg_basebackup", "--write-recovery-conf", "--checkpoint=fast", "--no-sync", f"--dbname={self._primary.dsn}"
        )
        with (self._data / "postgresql.auto.conf").open("a") as file:
            file.write(f"unix_socket_directories = '{self.folder}'\n")


class OldServer(EmbeddedServer):
    """A server of an older version, which another can be upgraded from."""

    def _create(self) -> None:
        super()._create()
        # As those of version 18 have by default.
        self._run("pg_checksums", "--enable")


class Upgraded(EmbeddedServer):
    """What pg_upgrade makes of another server, which is stopped."""

    def __init__(self, old: OldServer, *options: str) -> None:
        super().__init__()
        self._old = old
        self._options = options

    def _create(self) -> None:
        super()._create()
        command = [
            self.bin / "pg_upgrade", "--username=postgres", f"--socketdir={self.folder}",
            f"--old-bindir={self._old.bin}", f"--new-bindir={self.bin}",
            f"--old-datadir={self._old._data}", f"--new-datadir={self._data}", *self._options,
        ]  # fmt: skip
        output = self.folder / "pg_upgrade.log"
        with output.open("w") as log:
            done = subprocess.run(command, **{**self._as_user(), "stdout": log, "stderr": log})
        assert done.returncode == 0, output.read_text()


@contextmanager
def programs_of(version: int) -> Iterator[None]:
    """Servers that are made meanwhile are of this version."""
    before = os.environ.get("HAREL_PG_BIN")
    os.environ["HAREL_PG_BIN"] = str(server(version))
    try:
        yield
    finally:
        os.environ.pop("HAREL_PG_BIN")
        if before is not None:
            os.environ["HAREL_PG_BIN"] = before


class Cluster:
    """A coordinator of Citus and the nodes that it knows; databases are made on all of them.

    dsns: of servers that run already, the coordinator first. None: servers of its own, ended with the cluster.
    """

    def __init__(
        self, dsns: list[str] | None = None, *, nodes: int = 3, settings: dict[str, str] | None = None
    ) -> None:
        self.dsns = list(dsns or [])
        self.servers: list[EmbeddedServer] = []
        self._to_start = 0 if dsns else nodes
        self._settings = settings or {}
        self._closing = ExitStack()

    def __enter__(self) -> "Cluster":
        with ExitStack() as started:
            self._folder = Path(started.enter_context(tempfile.TemporaryDirectory(prefix="harel-")))
            self._folder.chmod(0o711)
            self._closing = started
            for _ in range(self._to_start):
                self.start_node()
            self._closing = started.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._closing.close()

    def start_node(self) -> EmbeddedServer:
        """Starts one more server, of which no database knows yet."""
        folder = self._folder / str(len(self.servers))
        settings = {
            "fsync": "off",
            "max_connections": "300",
            "max_prepared_transactions": "300",
            "max_worker_processes": "64",
            "shared_preload_libraries": "citus",
            "wal_level": "logical",
            # The nodes know each other by the folders of their sockets.
            "citus.local_hostname": str(folder),
            **self._settings,
        }
        server = self._closing.enter_context(EmbeddedServer(folder, settings=settings))
        self.servers.append(server)
        self.dsns.append(server.dsn)
        return server

    def create_database(self, name: str) -> str:
        """A database of the cluster, in which each node knows the others; the DSN of the coordinator's."""
        for dsn in self.dsns:
            execute(dsn, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
            execute(make_conninfo(dsn, dbname=name), "CREATE EXTENSION citus")
        coordinator = make_conninfo(self.dsns[0], dbname=name)
        execute(coordinator, "SELECT citus_set_coordinator_host(%s, 5432)", _host(self.dsns[0]))
        for dsn in self.dsns[1:]:
            execute(coordinator, "SELECT citus_add_node(%s, 5432)", _host(dsn))
        return coordinator

    def copy_database(self, template: str, name: str) -> str:
        """A copy of a database in which nobody works; the DSN of the coordinator's."""
        copy = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))

        def on(dsn: str) -> None:
            while True:
                # Citus itself may be at work in it, and comes back.
                execute(
                    dsn, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s", template
                )
                with suppress(psycopg.errors.ObjectInUse):
                    execute(dsn, copy)
                    return

        self._on_all(on)
        return make_conninfo(self.dsns[0], dbname=name)

    def drop_database(self, name: str) -> None:
        """Drops a database, whoever works in it."""
        drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))

        def on(dsn: str) -> None:
            # Each waits five seconds for Citus itself, which on a busy machine does not heed it at once.
            for _ in range(11):
                with suppress(psycopg.errors.ObjectInUse):
                    execute(dsn, drop)
                    return
            execute(dsn, drop)

        self._on_all(on)

    def _on_all(self, work: Callable[[str], object]) -> None:
        with ThreadPoolExecutor(len(self.dsns)) as pool:
            list(pool.map(work, self.dsns))


def _host(dsn: str) -> str:
    with psycopg.connect(dsn) as session:
        return session.info.host


def execute(dsn: str, statement: "LiteralString | sql.Composed", *parameters: Any) -> list[tuple[Any, ...]]:
    """The rows that a statement gives, in a session of its own."""
    with psycopg.connect(dsn, autocommit=True) as session:
        cursor = session.execute(statement, parameters or None)
        return cursor.fetchall() if cursor.description else []


def dsn_of(connection: "psycopg.Connection[Any]") -> str:
    """The DSN of a connection's database."""
    info = connection.info
    return make_conninfo(host=info.host, port=info.port, user=info.user, password=info.password, dbname=info.dbname)


def nodes_of(dsn: str) -> list[str]:
    """The DSNs of a database on all nodes, its own first."""
    if not SHARDS:
        return [dsn]
    return [
        make_conninfo(node, dbname=conninfo_to_dict(dsn)["dbname"]) for node in os.environ["HAREL_TEST_DSN"].split(";")
    ]


def arrive(transport: Any) -> None:
    """Brings what steps have sent to where it is for: on one server it is there already."""
    if SHARDS:
        transport.relay_spawns()
        transport.relay()
