"""A second server takes over: a standby that is promoted, or a subscriber of the store's tables."""

from contextlib import ExitStack

import pytest
from filled import TABLES, contents, fill, works_on
from wire import until

from cluster import Standby, programs_of
from cluster import execute as rows
from harel.embedded import EmbeddedServer

# The registers of the queue, a day ahead of this host's clock.
AHEAD = """
    SELECT setval('transport_floor', us), setval('transport_tend_at', us), setval('transport_lift_at', us),
        setval('transport_asleep_until', us)
    FROM (SELECT (extract(epoch FROM clock_timestamp() + '1 day') * 1000000)::bigint) AS clock (us)
"""


@pytest.mark.parametrize(("clock", "version"), [("the same", 18), ("ahead", 15)])
def test_a_promoted_standby_has_all_and_works_on(clock: str, version: int) -> None:
    with ExitStack() as closing, programs_of(version):
        primary = closing.enter_context(EmbeddedServer(settings={"fsync": "off"}))
        rows(primary.dsn, "CREATE EXTENSION harel")
        standby = closing.enter_context(Standby(primary))
        lease = fill(primary.dsn)
        if clock == "ahead":
            rows(primary.dsn, AHEAD)
        before = contents(primary.dsn)
        (at,) = rows(primary.dsn, "SELECT pg_current_wal_lsn()")[0]
        until(lambda: rows(standby.dsn, "SELECT pg_last_wal_replay_lsn() >= %s", at) == [(True,)])
        primary.stop("immediate")
        assert contents(standby.dsn) == before
        standby.promote()
        assert rows(standby.dsn, "SELECT harel_reset_sequences()") == [(0,)]
        works_on(standby.dsn, lease, exact=False)


def test_a_subscriber_has_all_and_works_on_once_its_sequences_are_reset() -> None:
    with ExitStack() as closing:
        publisher = closing.enter_context(EmbeddedServer(settings={"fsync": "off", "wal_level": "logical"}))
        subscriber = closing.enter_context(EmbeddedServer(settings={"fsync": "off", "wal_level": "logical"}))
        for server in (publisher, subscriber):
            rows(server.dsn, "CREATE EXTENSION harel")
        rows(publisher.dsn, f"CREATE PUBLICATION harel FOR TABLE {', '.join(TABLES)}")
        # Some of it is copied at first, and some follows.
        rows(publisher.dsn, "SELECT harel_commit('early', 'd', '{}', 0, 'event', p_trace => '{}')")
        rows(subscriber.dsn, f"CREATE SUBSCRIPTION harel CONNECTION '{publisher.dsn}' PUBLICATION harel")
        lease = fill(publisher.dsn)
        before = contents(publisher.dsn)
        until(lambda: contents(subscriber.dsn) == before)
        rows(subscriber.dsn, "DROP SUBSCRIPTION harel")
        assert rows(subscriber.dsn, "SELECT harel_reset_sequences()") == [(2,)]
        works_on(subscriber.dsn, lease, exact=False)
