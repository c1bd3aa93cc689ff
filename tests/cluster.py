"""Servers that belong together: a standby of another, and the one that another was upgraded to."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harel.embedded import EmbeddedServer
from servers import server


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
