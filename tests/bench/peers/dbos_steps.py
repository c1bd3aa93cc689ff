"""Durable workflow steps per second of DBOS Transact (PyPI dbos) on PostgreSQL, for serve.py.

`drain` with `workflows` and `steps`: runs that many workflows of that many steps each, in this one process, and answers
`{"count": workflows * steps, "seconds": time taken}`. The steps do nothing, so what is timed is their recording.

The clock runs from the moment the workflows may start until the last is recorded as SUCCESS. Before, each has been
started, which records it as PENDING and hands it to DBOS's threads; the first of them hold the threads and wait. A
handle has its result once the workflow's end is committed, so nothing is polled for.
"""

import itertools
import sys
import threading
import time
from uuid import uuid4

import psycopg
from dbos import DBOS, DBOSConfig
from psycopg.conninfo import conninfo_to_dict
from serve import Answer, serve
from sqlalchemy import URL

# The fastest of what was tried: DBOS.start_workflow of plain functions. Queues cost a claim for each workflow besides,
# and async workflows cost changes of thread for each step. Threads share what one core can do in Python: 2 to 8 differ
# less than the rounds do. The query that tests a pooled connection before each transaction is off.
THREADS = 4

may_start = threading.Event()
runs = itertools.count()  # of steps, in this process


@DBOS.step()
def step(number: int) -> int:
    next(runs)
    return number


@DBOS.workflow()
def workflow(steps: int) -> int:
    may_start.wait()
    return sum(step(1) for _ in range(steps))


def system_database_url(dsn: str) -> str:
    """What DBOS takes, from what libpq takes."""
    parts = conninfo_to_dict(dsn)
    # The host is a folder, which fits into the query only.
    url = URL.create(
        "postgresql",
        username=parts.get("user"),
        password=parts.get("password"),
        database=parts.get("dbname"),
        query={name: str(parts[name]) for name in ("host", "port") if name in parts},
    )
    return url.render_as_string(hide_password=False)


def drain(dsn: str, workflows: int, steps: int) -> Answer:
    """Raises unless every step has run, and is recorded, exactly once."""
    before = next(runs)
    may_start.clear()
    handles = [DBOS.start_workflow(workflow, steps) for _ in range(workflows)]
    start = time.perf_counter()
    may_start.set()
    results = [handle.get_result() for handle in handles]
    seconds = time.perf_counter() - start
    if results != [steps] * workflows or next(runs) - before - 1 != workflows * steps:
        raise RuntimeError("not every step has run exactly once")
    verify(dsn, [handle.get_workflow_id() for handle in handles], steps)
    return {"count": workflows * steps, "seconds": seconds}


def verify(dsn: str, ids: list[str], steps: int) -> None:
    """Raises unless those workflows and each of their steps are recorded, once."""
    with psycopg.connect(dsn) as session:
        recorded = session.execute(
            "SELECT w.workflow_uuid, w.status, (SELECT count(*) FROM dbos.operation_outputs o"
            " WHERE o.workflow_uuid = w.workflow_uuid AND o.output IS NOT NULL)"
            " FROM dbos.workflow_status w WHERE w.workflow_uuid = ANY(%s)",
            [ids],
        ).fetchall()
    if sorted(recorded) != sorted((id_, "SUCCESS", steps) for id_ in ids):
        raise RuntimeError("not every workflow is recorded as SUCCESS with all of its steps")


def main(dsn: str) -> None:
    config: DBOSConfig = {
        "name": "harel-bench",
        "system_database_url": system_database_url(dsn),
        # Of this process alone, so that it does not recover what another one left unfinished.
        "executor_id": str(uuid4()),
        "max_executor_threads": THREADS,
        "db_engine_kwargs": {"pool_pre_ping": False},
        "enable_otlp": False,
        "log_level": "CRITICAL",
    }
    DBOS(config=config)
    DBOS.launch()
    try:
        # Opens the connections and compiles the statements.
        drain(dsn, workflows=4 * THREADS, steps=10)
        serve({"drain": lambda workflows, steps: drain(dsn, workflows, steps)})
    finally:
        DBOS.destroy()


if __name__ == "__main__":
    main(sys.argv[1])
