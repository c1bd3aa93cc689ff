"""What a million commits leave behind."""

import time
from concurrent.futures import ThreadPoolExecutor

import psycopg

from harel.engine.execution import Status

from ..harness import Bench, Comparison, at_least, at_most, fill
from ..samples import sample

EXECUTIONS = 10_000
COMMITS = 100
CHUNK = 500
SESSIONS = 2
PARTS = 5

BATCH = """
SELECT count(*) FILTER (WHERE NOT committed) FROM harel_commit_batch(
    (SELECT array_agg('exe-' || i) FROM generate_series(%(first)s::int, %(last)s::int) AS i),
    array_fill('orders'::text, ARRAY[%(count)s]),
    array_fill(%(data)s::text, ARRAY[%(count)s]),
    array_fill(%(old)s::bigint, ARRAY[%(count)s])
)
"""
COUNTERS = "SELECT n_tup_hot_upd, n_tup_upd FROM pg_stat_user_tables WHERE relname = 'executions'"


def hot(bench: Bench) -> None:
    """A million commits over 10,000 executions, each PENDING at first and DONE at last: HOT share and size after."""
    executions, chunk = bench.size(EXECUTIONS, 100), min(CHUNK, bench.size(EXECUTIONS, 100) // SESSIONS)
    exe = sample()
    exe.status = Status.PENDING
    with bench.database() as dsn, psycopg.connect(dsn, autocommit=True) as session:
        fill(session, "executions", "'exe-' || i", executions, exe.model_dump_json())
        session.execute("UPDATE executions SET status = 'PENDING'")
        session.execute("VACUUM FULL ANALYZE executions")
        size = "SELECT pg_total_relation_size('executions') / 1024.0 / 1024.0"
        before = float((session.execute(size).fetchone() or (0,))[0])

        def commit(part: int, which: int) -> None:
            mine = range(which * executions // SESSIONS, (which + 1) * executions // SESSIONS)
            with psycopg.connect(dsn, autocommit=True) as worker:
                for old in range(1 + part * COMMITS // PARTS, 1 + (part + 1) * COMMITS // PARTS):
                    state = exe.model_copy(update={"status": Status.DONE if old == COMMITS else Status.RUNNING})
                    for first in range(mine.start, mine.stop, chunk):
                        last = min(first + chunk, mine.stop) - 1
                        arguments = {
                            "first": first, "last": last, "count": last - first + 1,
                            "data": state.model_dump_json(), "old": old,
                        }  # fmt: skip
                        assert worker.execute(BATCH, arguments).fetchone() == (0,)

        def counted() -> tuple[int, int]:
            hot_updates, updates = session.execute(COUNTERS).fetchone() or (0, 0)
            return hot_updates, updates

        shares, sizes = [], []
        hot_before, updates_before = counted()
        with ThreadPoolExecutor(SESSIONS) as pool:
            for part in range(PARTS):
                list(pool.map(lambda which, part=part: commit(part, which), range(SESSIONS)))
                # A session hands over what it has counted when it ends.
                expected = updates_before + executions * COMMITS // PARTS
                while counted()[1] < expected:
                    time.sleep(0.01)
                hot_now, updates_now = counted()
                shares.append((float(hot_now - hot_before), float(updates_now - updates_before)))
                hot_before, updates_before = hot_now, updates_now
                sizes.append((float((session.execute(size).fetchone() or (0,))[0]), before))
    parameters = "1,000,000 commits of 1 KB, async"
    bench.add(Comparison(bench.current, "HOT updates", "all updates", parameters, "updates", at_least(0.95), shares))
    bench.add(Comparison(bench.current, "size of the table", "before", parameters, "MB", at_most(1.5), sizes))
