"""The world outside: customers who place and cancel orders, and a payment provider who answers requests.

It is in touch with the executions through events only: it publishes into their queue, and what they say to it are
broadcasts, which it takes from the outbox.
"""

import heapq
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import psycopg

from ..engine.execution import Execution
from ..engine.store import OutboxEntry, PostgresStore
from ..engine.transport import PostgresTransport
from ..spec.states import Event
from .orders import ATTEMPTS, DEFINITION, PAYMENT_DEADLINE

# Seconds: how soon after each other orders are placed, and how soon somebody answers.
BETWEEN_ORDERS = 0.012
ANSWER, SLOW_ANSWER = (0.01, 0.04), (1.1 * PAYMENT_DEADLINE, 1.2 * PAYMENT_DEADLINE)
CANCEL = (0.02, 0.25)


@dataclass(frozen=True)
class Plan:
    """What is going to happen to an order, as far as the world decides it.

    amount is in cents, the times are in seconds. declines: how often the provider declines a charge. twice: everything
    about it is published twice, as by a customer who clicks twice.
    """

    order: str
    amount: int
    placed_at: float
    cancelled_after: float | None
    declines: int
    answer_takes: float
    twice: bool


@dataclass(frozen=True)
class Entry:
    """An entry in the books of the payment provider: the answer to one request."""

    order: str
    answer: str
    amount: int


def plans(orders: int, seed: int) -> list[Plan]:
    """As many plans, the same for the same seed."""
    chance = random.Random(seed)
    made = []
    for number in range(1, orders + 1):
        made.append(
            Plan(
                order=f"order-{number:04}",
                amount=chance.randrange(500, 25_000),
                placed_at=number * BETWEEN_ORDERS,
                cancelled_after=chance.uniform(*CANCEL) if chance.random() < 0.1 else None,
                declines=chance.choices(range(ATTEMPTS + 1), weights=(80, 12, 5, 3))[0],
                # Not for the last ones, or the demo would have to wait for them.
                answer_takes=chance.uniform(
                    *(SLOW_ANSWER if chance.random() < 0.05 and 2 * number <= orders else ANSWER)
                ),
                twice=chance.random() < 0.05,
            )
        )
    return made


class World:
    """Customers and provider of some orders, over one connection.

    published: the event ids for each execution, with the kind of event, in the order published.
    books: what the provider has done, by the id of the request.
    """

    def __init__(self, plans: Sequence[Plan], dsn: str, schema: str | None) -> None:
        self.plans = {plan.order: plan for plan in plans}
        self.published: dict[tuple[str, str], str] = {}
        self.published_again = 0
        self.books: dict[str, Entry] = {}
        self.confirmed: set[str] = set()
        self._told: set[str] = set()
        self._dsn = dsn
        self._schema = schema
        self._agenda: list[tuple[float, int, str, Event]] = []
        self._number = count()
        self._tries: Counter[str] = Counter()
        self.connect()

    def connect(self) -> None:
        """Connects, at first and whenever the server has been away."""
        self.connection = psycopg.connect(self._dsn, autocommit=True, fallback_application_name="harel")
        self._store = PostgresStore(self.connection, schema=self._schema)
        self._queue = PostgresTransport(self.connection, schema=self._schema)

    def close(self) -> None:
        """Closes the connection."""
        self.connection.close()

    def begin(self) -> None:
        """From now on orders are placed."""
        for plan in self.plans.values():
            self._plan(
                plan.placed_at, plan.order, Event(id=f"{plan.order}:place", kind="Place", data={"amount": plan.amount})
            )
            if plan.cancelled_after is not None:
                cancel = Event(id=f"{plan.order}:cancel", kind="Cancel")
                self._plan(plan.placed_at + plan.cancelled_after, plan.order, cancel)

    def act(self) -> None:
        """Publishes what is due, and hears what the executions have said."""
        messages: list[tuple[str, Event]] = []
        # An execution and the first event for it come to be together, in one transaction.
        with self.connection.transaction():
            while self._agenda and self._agenda[0][0] <= time.monotonic():
                _, _, execution, event = heapq.heappop(self._agenda)
                if event.kind == "Place":
                    self._store.save(Execution(id=execution, definition_id=DEFINITION))
                elif event.kind == "Cancel" and execution in self._told:
                    continue
                messages += [(execution, event)] * (2 if self._plan_of(execution).twice else 1)
            self._queue.publish_many(messages)
        for execution, event in messages:
            if (execution, event.id) in self.published:
                self.published_again += 1
            self.published[execution, event.id] = event.kind
            if event.kind == "Confirm":
                self.confirmed.add(execution)
        self._store.deliver_outbox(self._hear, 200)

    def _hear(self, entries: list[OutboxEntry]) -> None:
        """Answers broadcasts. One that is heard again gets the same answer, by the same id."""
        for entry in entries:
            event = entry.event
            execution = event.data["execution"]
            plan = self._plan_of(execution)
            if event.kind in ("Delivered", "Cancelled"):
                self._told.add(plan.order)
                answer, takes = "Confirm", ANSWER[0]
            else:
                if event.id not in self.books:
                    self.books[event.id] = Entry(plan.order, self._answer(event.kind, plan), event.data["amount"])
                answer, takes = self.books[event.id].answer, plan.answer_takes
            self._plan(takes, execution, Event(id=f"{event.id}:answer", kind=answer))

    def _answer(self, request: str, plan: Plan) -> str:
        if request == "Refund":
            return "Refunded"
        self._tries[plan.order] += 1
        return "Declined" if self._tries[plan.order] <= plan.declines else "Charged"

    def _plan(self, delay: float, execution: str, event: Event) -> None:
        heapq.heappush(self._agenda, (time.monotonic() + delay, next(self._number), execution, event))

    def _plan_of(self, execution: str) -> Plan:
        return self.plans[execution.partition("/")[0]]
