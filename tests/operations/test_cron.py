"""Sweeps by pg_cron, with the statements of the documentation, on a server that runs them."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo
from wire import until

from cluster import execute as rows
from harel import Execution, PostgresStore, Status, TimerOp
from harel.embedded import EmbeddedServer

PAGE = Path(__file__).parents[2] / "docs/how-to/retention.md"
DEBIAN = Path("/usr/lib/postgresql")


@pytest.fixture(params=["in a background worker", "by a connection"])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedServer]:
    """A server of Debian with pg_cron."""
    found = sorted(DEBIAN.glob("*/lib/pg_cron.so"))
    if not found:
        complain = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        complain("there is no pg_cron: apt-get install postgresql-15-cron")
    monkeypatch.setenv("HAREL_PG_BIN", str(found[-1].parents[1] / "bin"))
    settings = {"fsync": "off", "shared_preload_libraries": "pg_cron"}
    if request.param == "in a background worker":
        settings["cron.use_background_workers"] = "on"
    with EmbeddedServer(settings=settings) as server:
        rows(server.dsn, "CREATE EXTENSION pg_cron")
        # By default it connects to localhost, where this server does not listen.
        rows(server.dsn, f"ALTER SYSTEM SET cron.host = '{server.folder}'")
        server.stop()
        server.start()
        yield server


@pytest.mark.page("docs/how-to/retention.md", "sql")
def test_the_jobs_of_the_documentation_do_their_work(server: EmbeddedServer) -> None:
    store = PostgresStore.from_dsn(server.dsn, schema="harel")
    waiting = Execution(id="waiting", definition_id="d", status=Status.RUNNING)
    store.commit(waiting, [], timers=[TimerOp("schedule", "/paying", 1.0)])
    store.close()
    # More than one batch of each, and some that are too young.
    rows(
        server.dsn,
        """
        INSERT INTO harel.executions (id, definition_id, data, version, status, finished_at)
        SELECT 'done ' || n, 'd', '{"status": "DONE"}', 1, 'DONE', now() - make_interval(days => 29 + n % 3)
        FROM generate_series(1, 3600) n
        """,
    )
    rows(
        server.dsn,
        """
        INSERT INTO harel.processed_events (execution_id, event_id, processed_at)
        SELECT 'waiting', n::text, now() - make_interval(days => 80 + 20 * (n % 2))
        FROM generate_series(1, 24000) n
        """,
    )
    (jobs,) = [block for block in re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL) if "cron." in block]
    (version,) = rows(server.dsn, "SELECT extversion FROM pg_extension WHERE extname = 'pg_cron'")[0]
    if tuple(map(int, re.findall(r"\d+", version)))[:2] < (1, 5):
        # As the page says.
        jobs = jobs.replace("'5 seconds'", "'* * * * *'")
    rows(server.dsn, "CREATE ROLE scheduler LOGIN")
    rows(server.dsn, "GRANT USAGE ON SCHEMA cron TO scheduler")
    rows(server.dsn, "SELECT harel.harel_grant('scheduler')")
    rows(make_conninfo(server.dsn, user="scheduler"), jobs)
    assert rows(server.dsn, "SELECT count(*) FROM cron.job") == [(2,)]
    # The next minute, or night, is not waited for.
    rows(server.dsn, "UPDATE cron.job SET schedule = '@reboot'")
    server.stop()
    server.start()

    def ended() -> list[tuple[str, str]]:
        return rows(
            server.dsn,
            "SELECT status, return_message FROM cron.job_run_details WHERE status IN ('succeeded', 'failed')"
            # A minute may have begun before that.
            " AND start_time >= pg_postmaster_start_time()",
        )

    until(lambda: len(ended()) == 2)
    assert [status for status, _ in ended()] == ["succeeded", "succeeded"], ended()
    assert rows(server.dsn, "SELECT count(*), min(finished_at) > now() - interval '30 days' FROM harel.executions") == [
        (1201, True)
    ]
    assert rows(server.dsn, "SELECT count(*) FROM harel.processed_events") == [(12000,)]
    assert rows(server.dsn, "SELECT count(*) FROM harel.timers") == [(0,)]
    assert rows(server.dsn, "SELECT group_id FROM harel.transport_messages") == [("waiting",)]
