"""Events a second of one worker process, beside the workers of peers."""

from ..harness import Bench, at_least
from ..peer import Own, Peer

# Of each execution, or workflow.
EVENTS = 10


def worker(bench: Bench) -> None:
    """A worker that commits each event's step, beside AsyncWorker of harel 0.9.0 and a dbos worker's steps."""
    with (
        bench.database() as dsn,
        bench.database(store=False) as their_dsn,
        bench.database(store=False) as dbos_dsn,
        Own(dsn) as ours,
        Peer("harel_worker", their_dsn) as peer,
        Peer("dbos_steps", dbos_dsn) as dbos,
    ):
        # About as much as either does in a block.
        many, few = max(5, int(800 * bench.seconds)), max(2, int(100 * bench.seconds))
        by_us = ours.block("drain", executions=many, events=EVENTS)
        assert by_us
        bench.compare(
            "worker", by_us, "harel 0.9.0 AsyncWorker", peer.block("drain", executions=few, events=EVENTS),
            parameters="async, one process", unit="events/s", goal=at_least(5),
        )  # fmt: skip
        bench.compare(
            "worker", by_us, "dbos steps", dbos.block("drain", workflows=few, steps=EVENTS),
            parameters="async, one process", unit="events/s", goal=at_least(3),
        )  # fmt: skip
