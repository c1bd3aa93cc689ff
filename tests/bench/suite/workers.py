"""Events a second of one worker process, beside the workers of peers."""

from ..harness import Bench, at_least
from ..peer import Own, Peer

# Of each execution, or workflow.
EVENTS = 10


def worker(bench: Bench) -> None:
    """A worker that commits each event's step, beside AsyncWorker of harel 0.9.0 and a dbos worker's steps."""
    with bench.database() as dsn, bench.database(store=False) as theirs, bench.database(store=False) as dbos:
        with Own(dsn) as ours, Peer("harel_worker", theirs) as peer, Peer("dbos_steps", dbos) as steps:

            def by_us() -> float:
                return ours.rate("drain", executions=max(5, int(800 * bench.seconds)), events=EVENTS)

            def by_peer() -> float:
                return peer.rate("drain", executions=max(2, int(100 * bench.seconds)), events=EVENTS)

            def by_dbos() -> float:
                return steps.rate("drain", workflows=max(2, int(100 * bench.seconds)), steps=EVENTS)

            bench.compare(
                "worker", by_us, "harel 0.9.0 AsyncWorker", by_peer,
                parameters="async, local socket", unit="events/s", goal=at_least(5),
            )  # fmt: skip
            bench.compare(
                "worker", by_us, "dbos steps", by_dbos,
                parameters="async, local socket", unit="events/s", goal=at_least(3),
            )  # fmt: skip
