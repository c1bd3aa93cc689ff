"""How fast a server is for harel: its calls, measured in turn, beside the bare round trip to it."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from statistics import median, quantiles

import psycopg

from .engine.execution import Execution, Status
from .engine.store import PostgresStore, TimerOp
from .engine.transport import Completion, PostgresTransport
from .spec.states import Event

ROUNDS = 10
BATCH = 50


@dataclass(frozen=True)
class Measurement:
    """How long a call took: `calls` of them in so many seconds in all, of which each handled `events` events.

    `trips` is its median in round trips of the same run: that is what can be compared between two runs and servers.
    """

    what: str
    calls: int
    events: int
    median: float
    p99: float
    per_second: float
    trips: float


def measured(dsn: str, schema: str | None, seconds: float) -> Iterator[Measurement | float]:
    """Measures each kind of call for about so many seconds, in rounds. Yields the share that is done, and at the end a
    Measurement of each.

    It makes executions of the definition `harel-bench`; the schema is best one of its own.
    """
    with psycopg.connect(dsn, autocommit=True) as session:
        store, queue = PostgresStore(session, schema=schema), PostgresTransport(session, schema=schema)
        calls = _calls(session, store, queue)
        times: dict[str, list[float]] = {what: [] for what in calls}
        slice_ = seconds / ROUNDS
        for number in range(ROUNDS):
            for what, (prepare, call) in calls.items():
                end = time.perf_counter() + slice_
                while True:
                    prepare()
                    begun = time.perf_counter()
                    call()
                    ended = time.perf_counter()
                    times[what].append(ended - begun)
                    if ended > end:
                        break
            yield (number + 1) / ROUNDS
    trip = median(times[_TRIP])
    for what, taken in times.items():
        events = BATCH if what == _STEPS else 1
        middle = median(taken)
        p99 = quantiles(taken, n=100)[-1] if len(taken) > 1 else middle
        yield Measurement(what, len(taken), events, middle, p99, events * len(taken) / sum(taken), middle / trip)


_TRIP = "round trip: SELECT 1"
_STEPS = f"{BATCH} events of a worker: next and finish"

Calls = dict[str, tuple[Callable[[], object], Callable[[], object]]]


def _calls(session: "psycopg.Connection[tuple[object, ...]]", store: PostgresStore, queue: PostgresTransport) -> Calls:
    """What is done before a call, unmeasured, and the call."""
    one, other = (
        Execution(definition_id="harel-bench", status=Status.RUNNING, active_path="/a", context={"filler": "x" * 500})
        for _ in range(2)
    )
    crowd = [Execution(definition_id="harel-bench", status=Status.RUNNING, active_path="/a") for _ in range(BATCH)]
    # What is sent to it stays in the queue, and no worker meets it.
    held = Execution(definition_id="harel-bench", status=Status.SUSPENDED)
    for execution in (one, other, held, *crowd):
        store.save(execution)
    numbers = count()

    def commit() -> None:
        store.commit(
            other,
            [(None, Event(kind="Ship")), (None, Event(kind="Tell"))],
            processed_event_id=f"event-{next(numbers)}",
            timers=[TimerOp("schedule", "/a", 4e9)],
            trace={"event": "Paid", "from": "/a", "to": "/a"},
        )

    def publish_to_all() -> None:
        queue.publish_many([(execution.id, Event(kind="Go")) for execution in crowd])

    def steps() -> None:
        deliveries = queue.next("harel-bench", 60.0, BATCH)
        queue.finish(
            [
                Completion(delivery.lease, delivery.execution, trace={"event": "Go", "from": "/a", "to": "/a"})
                for delivery in deliveries
            ]
        )

    def nothing() -> None:
        pass

    return {
        _TRIP: (nothing, lambda: session.execute("SELECT 1").fetchone()),
        "load": (nothing, lambda: store.load(one.id)),
        "save: a commit of a state only": (nothing, lambda: store.save(one)),
        "commit: state, 2 events, timer, trace, dedupe mark": (nothing, commit),
        "send an event": (nothing, lambda: queue.send(held.id, Event(kind="Go"))),
        _STEPS: (publish_to_all, steps),
    }
