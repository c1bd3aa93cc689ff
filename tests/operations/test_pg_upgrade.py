"""pg_upgrade of the server that a store is on."""

from contextlib import ExitStack

import pytest
from filled import contents, fill, works_on

from cluster import OldServer, Upgraded, programs_of
from cluster import execute as rows


@pytest.mark.parametrize("way", ["--copy", "--link"])
def test_a_store_on_15_is_the_same_on_18(way: str) -> None:
    with ExitStack() as closing:
        with programs_of(15):
            old = OldServer(settings={"fsync": "off"})
        closing.enter_context(old)
        rows(old.dsn, "CREATE SCHEMA harel")
        rows(old.dsn, "CREATE EXTENSION harel SCHEMA harel")
        rows(old.dsn, "CREATE ROLE worker LOGIN")
        rows(old.dsn, "SELECT harel.harel_grant('worker')")
        lease = fill(old.dsn, "harel")
        # A second one, which came by the script.
        second = fill(old.dsn, "second")
        before = [contents(old.dsn, schema) for schema in ("harel", "second")]
        old.stop()
        with programs_of(18):
            new = Upgraded(old, way)
        closing.enter_context(new)
        assert rows(new.dsn, "SELECT current_setting('server_version_num')::integer / 10000") == [(18,)]
        assert [contents(new.dsn, schema) for schema in ("harel", "second")] == before
        works_on(f"{new.dsn} user=worker", lease, "harel")
        works_on(new.dsn, second, "second")
