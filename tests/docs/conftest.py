import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pages import ROOT
from psycopg.conninfo import conninfo_to_dict

from harel.embedded import programs


@pytest.fixture
def environment(dsn: str) -> dict[str, str]:
    """What a terminal has in which harel is installed: its commands, those of PostgreSQL, and the way to a database."""
    folders = [str(Path(sys.executable).parent), str(programs()), os.environ["PATH"]]
    names = {"dbname": "PGDATABASE", "host": "PGHOST", "password": "PGPASSWORD", "port": "PGPORT", "user": "PGUSER"}
    where = {names[name]: str(value) for name, value in conninfo_to_dict(dsn).items() if name in names and value}
    return {**os.environ, **where, "HAREL_DSN": dsn, "PATH": os.pathsep.join(folders), "PYTHONWARNINGS": ""}


@pytest.fixture
def shell(environment: dict[str, str]) -> Callable[..., str]:
    """Runs a block of a shell and returns what it shows; it must succeed."""

    def run(text: str, folder: Path = ROOT) -> str:
        command = ["bash", "-euo", "pipefail", "-c", text]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
