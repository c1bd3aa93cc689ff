"""Derives the synchronous twins of the clients' modules from the asynchronous sources.

`generate_twin.py` writes them; `generate_twin.py --check` fails where one is not up to date.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import unasync

ENGINE = Path(__file__).parent / "harel" / "engine"
MODULES = ("store/_session.py", "store/_methods.py", "store/_sharded.py", "transport/_methods.py")
NAMES = {
    "AsyncExecutionStore": "ExecutionStore",
    "AsyncExitStack": "ExitStack",
    "AsyncIterator": "Iterator",
    "AsyncPostgresClient": "PostgresClient",
    "AsyncPostgresStore": "PostgresStore",
    "AsyncPostgresTransport": "PostgresTransport",
    "AsyncSession": "Session",
    "AsyncShardedMethods": "ShardedMethods",
    "AsyncStoreMethods": "StoreMethods",
    "AsyncTransportMethods": "TransportMethods",
    "AsyncTransport": "Transport",
    "Awaitable[Any]": "Any",
    "Awaitable[int]": "int",
    "Awaitable, ": "",
    "asynccontextmanager": "contextmanager",
    "aio_store": "store",
    "enter_async_context": "enter_context",
    "push_async_callback": "callback",
}


def twin(module: str) -> str:
    """The text that the twin of `aio_<module>` should have."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "_async"), Path(folder, "_sync")
        source.mkdir()
        path = Path(module)
        text = Path(ENGINE, f"aio_{module}").read_text()
        for name, sync_name in NAMES.items():
            # Also where a docstring speaks of them.
            text = text.replace(name, sync_name)
        Path(source, path.name).write_text(text)
        rule = unasync.Rule(f"{source}/", f"{target}/")
        unasync.unasync_files([f"{source}/{path.name}"], [rule])
        header = f"# Generated from ../aio_{module} by `make generate`. Do not edit.\n"
        result = header + Path(target, path.name).read_text().replace(f"from ..{path.parent}.", "from .")
    command = [sys.executable, "-m", "ruff", "check", "--fix", "--quiet", "--stdin-filename", str(ENGINE / module), "-"]
    result = subprocess.run(command, input=result, capture_output=True, text=True, check=True).stdout
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(ENGINE / module), "-"]
    return subprocess.run(command, input=result, capture_output=True, text=True, check=True).stdout


def main() -> None:
    for module in MODULES:
        text = twin(module)
        path = ENGINE / module
        if "--check" not in sys.argv[1:]:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit(f"{path} is not up to date: run `make generate`")


if __name__ == "__main__":
    main()
