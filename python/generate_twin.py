"""Derives the synchronous twin of the store's methods from the asynchronous source.

`generate_twin.py` writes it; `generate_twin.py --check` fails where it is not up to date.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import unasync

ENGINE = Path(__file__).parent / "harel" / "engine"
SOURCE = ENGINE / "aio_store" / "_methods.py"
TWIN = ENGINE / "store" / "_methods.py"
NAMES = {
    "AsyncExecutionStore": "ExecutionStore",
    "AsyncPostgresStore": "PostgresStore",
    "AsyncStoreMethods": "StoreMethods",
}
HEADER = "# Generated from ../aio_store/_methods.py by `make generate`. Do not edit.\n"


def twin() -> str:
    """The text that the twin should have."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "_async"), Path(folder, "_sync")
        source.mkdir()
        text = SOURCE.read_text()
        for name, sync_name in NAMES.items():
            # Also where a docstring speaks of them.
            text = text.replace(name, sync_name)
        Path(source, SOURCE.name).write_text(text)
        rule = unasync.Rule(f"{source}/", f"{target}/")
        unasync.unasync_files([f"{source}/{SOURCE.name}"], [rule])
        result = HEADER + Path(target, SOURCE.name).read_text().replace("from ..store.", "from .")
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TWIN), "-"]
    return subprocess.run(command, input=result, capture_output=True, text=True, check=True).stdout


def main() -> None:
    text = twin()
    if "--check" not in sys.argv[1:]:
        TWIN.write_text(text)
    elif not TWIN.exists() or TWIN.read_text() != text:
        sys.exit(f"{TWIN} is not up to date: run `make generate`")


if __name__ == "__main__":
    main()
