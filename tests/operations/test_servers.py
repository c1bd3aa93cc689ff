"""The servers that other tests run on."""

import shutil
from pathlib import Path

import pytest

from cluster import execute as rows
from cluster import programs_of
from harel.embedded import EmbeddedServer
from servers import RELEASES, server


@pytest.mark.parametrize("version", RELEASES)
def test_there_is_one_of_each_version_and_it_offers_the_extension(version: int) -> None:
    with programs_of(version), EmbeddedServer(settings={"fsync": "off"}) as running:
        assert rows(running.dsn, "SELECT current_setting('server_version_num')::integer / 10000") == [(version,)]
        rows(running.dsn, "CREATE EXTENSION harel")


def test_one_in_a_folder_that_nobody_else_can_enter_runs_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    shutil.copytree(server(15).parent, home / "15", symlinks=True)
    monkeypatch.setenv("HAREL_PG_BIN", str(home / "15" / "bin"))
    with EmbeddedServer(settings={"fsync": "off"}) as running:
        rows(running.dsn, "CREATE EXTENSION harel")
