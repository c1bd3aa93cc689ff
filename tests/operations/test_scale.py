"""What is called again and again costs the same on a large store. HAREL_SCALE says how many rows that has."""

import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import psycopg
import pytest

SMALL = 10_000
LARGE = int(os.environ.get("HAREL_SCALE") or 10_000_000)

FILL = """
    INSERT INTO executions (id, definition_id, data, version, status, finished_at)
    SELECT
        'e' || n, 'd', '{}', 1, CASE WHEN n %% 10 < 8 THEN 'DONE' WHEN n %% 1000 = 9 THEN 'FAILED' ELSE 'RUNNING' END,
        CASE WHEN n %% 10 < 8 THEN to_timestamp(n) END
    FROM generate_series(%(first)s, %(last)s) n;
    INSERT INTO processed_events (execution_id, event_id, processed_at)
    SELECT 'e' || n, 'event', to_timestamp(n) FROM generate_series(%(first)s, %(last)s) n;
    INSERT INTO timers (execution_id, path, fire_at)
    SELECT 'e' || n, '/p', n FROM generate_series(%(first)s, %(last)s) n WHERE n %% 10 = 9;
"""


def seconds(call: Callable[[], Any]) -> float:
    """How long a call takes, the median of several."""
    taken = []
    for _ in range(15):
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


@pytest.mark.soak
def test_watching_and_purging_cost_the_same_on_a_large_store(postgresql: "psycopg.Connection[Any]") -> None:
    postgresql.autocommit = True
    # As text, since several statements take no parameters.
    with psycopg.ClientCursor(postgresql) as cursor:

        def measured(first: int, last: int) -> dict[str, float]:
            cursor.execute(FILL, {"first": first, "last": last})
            cursor.execute("VACUUM ANALYZE executions, processed_events, timers")
            for purge in ("finished", "processed"):
                cursor.execute(f"SELECT harel_purge_{purge}(0, 50, p_now => {last})")
                assert cursor.fetchone() == (50,)
            return {
                name: seconds(partial(cursor.execute, f"SELECT * FROM {call}"))
                for name, call in {
                    "harel_stats()": "harel_stats()",
                    "harel_health()": "harel_health()",
                    "harel_purge_finished()": f"harel_purge_finished(0, 50, p_now => {last})",
                    "harel_purge_processed()": f"harel_purge_processed(0, 50, p_now => {last})",
                }.items()
            }

        small = measured(1, SMALL)
        large = measured(SMALL + 1, LARGE)
        for name in small:
            print(f"{name} with {SMALL:,} rows {small[name] * 1000:.2f} ms, with {LARGE:,} {large[name] * 1000:.2f} ms")
        executions, ledger = cursor.execute("SELECT executions, processed_events FROM harel_stats()").fetchone() or ()
        assert sum(executions.values()) == pytest.approx(LARGE, rel=0.05)
        assert ledger == pytest.approx(LARGE, rel=0.05)
        # A hundredth of the time where it is asked for each 5 s.
        assert large["harel_stats()"] < 0.05
        for name in small:
            assert large[name] < max(5 * small[name], 0.01), name
